//! Checks of stored key parts against the properties of their row, without the entity.

use table_store::{Result, RowRef, error::KeyProblem};

use crate::{
    key::{Escape, KeyBuffer, escape},
    layout::{Encoding, LayoutExt, LayoutInfo, PartInfo, PropertyInfo, field_at, of_row, segments},
};

/// Checks that the folded, cut and hashed parts of a row's keys are those of the texts that the row has as properties.
/// Fields that the row does not have, or has in another form than that of their types, are not checked. If `all` is true,
/// the other parts of the keys are checked too, as those of a copy, which has every field as a property.
///
/// # Errors
/// Another program wrote the row under other keys.
pub fn check_lossy_parts(
    layout: &'static LayoutInfo,
    fields: &'static [PropertyInfo],
    (table, row): (&str, &RowRef<'_>),
    all: bool,
) -> Result<()> {
    for ((prefix, parts), key) in layout.keys().into_iter().zip([row.partition_key, row.row_key]) {
        let key = key.get(prefix.len()..).unwrap_or_default();
        for (part, text, last) in segments::texts(layout, parts, key) {
            let text = text.unwrap_or_else(|rest| rest);
            // An element is not the field's value.
            if (all || part.is_lossy())
                && !part.each
                && let Some(own) = written(part, fields, row, escape(layout, last))
                && own.as_str() != text
            {
                let expected = format!("`{}`, the key of the field's value", own.as_str());
                let error = layout.key_error(&part.field, KeyProblem::malformed(expected, text));
                return Err(of_row(error, table, row));
            }
        }
    }
    Ok(())
}

/// Returns the part of a field that the row has as a property.
fn written(part: &PartInfo, fields: &'static [PropertyInfo], row: &RowRef<'_>, escape: Escape) -> Option<KeyBuffer> {
    let is_text = part.kind == "text";
    let (name, _) = field_at(fields, &part.field).filter(|(_, property)| property.is_native && is_text)?;
    let value = row.properties.get_named(name)?;
    let mut own = KeyBuffer::new();
    Encoding::of(part).encode(&part.kind, value, escape, &mut own)?.ok()?;
    Some(own)
}
