//! Some of an entity's fields: what a query asks for, and how they are read.

use std::borrow::Cow;

use super::View;
use crate::{
    Column, LayoutInfo, Properties, Result, RowRef, TableEntity,
    codec::{PropertyWriter, RowReader},
    entity,
    key::{KeyReader, RowContext},
    read::{FoundRow, values, wants_keys},
};

/// A struct of some of the fields of the entity `E`: `#[derive(Projection)]`, and what [`select`](crate::Rows::select)
/// takes.
///
/// It is read plain, not as [`Stored`](crate::Stored): what is not the whole entity cannot be written back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{E}`",
    label = "not a projection of `{E}`",
    note = "write `#[derive(Projection)] #[projection(of = {E})]` on a struct of some of its fields"
)]
pub trait Projection<E>: View<Entity = E, Item = Self> + Send {
    /// The properties of its fields, in their order; empty for one that the key alone holds.
    #[doc(hidden)]
    const PROPERTIES: &'static [&'static str];

    #[doc(hidden)]
    fn read(row: &mut RowReader<'_>) -> Result<Self>;
}

/// The type of an entity's field, which a projection's field has too.
#[diagnostic::on_unimplemented(
    message = "a projection's field has the type of the entity's: `{Self}`, not `{P}`",
    label = "the entity's field is a `{Self}`"
)]
pub trait SameAs<P> {
    #[doc(hidden)]
    fn same(self) -> P;
}

#[diagnostic::do_not_recommend]
impl<T> SameAs<T> for T {
    #[inline]
    fn same(self) -> T {
        self
    }
}

/// Reads a field of a projection as the entity's column says.
#[inline]
pub fn project<P, E, T: SameAs<P>, M, S>(column: Column<E, T, M, S>, row: &mut RowReader<'_>) -> Result<P> {
    column.load(row).map(T::same)
}

impl FoundRow<'_> {
    /// The fields of a projection; `None` if their entity does not, or no longer, have the value by which it was found.
    #[doc(hidden)]
    pub fn projected<E: TableEntity, P: Projection<E>>(self) -> Result<Option<P>> {
        if const { E::LAYOUTS.len() > 1 } {
            if self.layout > 0 {
                return of_index::<E, P>(self.layout, self.row).map(Some);
            }
            if self.pointer.is_some() && self.entity::<E>()?.is_none() {
                return Ok(None);
            }
        }
        of_row::<E, P>(self.table, self.row).map(Some)
    }
}

fn of_row<E: TableEntity, P: Projection<E>>(table: &str, row: RowRef<'_>) -> Result<P> {
    let mut reader = RowReader::new(&E::LAYOUTS[0], table, row);
    let projected = <P as Projection<E>>::read(&mut reader)?;
    reader.finish()?;
    Ok(projected)
}

/// The fields as the row of an index holds them: as properties, in its own keys, or in those that it points to.
fn of_index<E: TableEntity, P: Projection<E>>(layout: usize, row: RowRef<'_>) -> Result<P> {
    let info = &E::LAYOUTS[layout];
    let keys = if wants_keys(P::PROPERTIES) {
        let (partition_key, row_key) = entity::owner::<E>(layout, row)?;
        (Cow::Owned(partition_key), Cow::Owned(row_key))
    } else {
        (Cow::Borrowed(row.partition_key), Cow::Borrowed(row.row_key))
    };
    let mut values = values(info).filter(|(_, name)| P::PROPERTIES.contains(name)).peekable();
    let mut with_values = None;
    if values.peek().is_some() {
        let row_keys = (row.partition_key.to_owned(), row.row_key.to_owned());
        let properties = with_values.insert(row.properties.to_properties());
        for (part, _) in values {
            let key = part_of(info, E::SEPARATOR, part, row)?;
            E::index_value(layout, part, key, &mut PropertyWriter::new(info.table, &row_keys, properties))?;
        }
    }
    let properties = with_values.as_ref().map_or(row.properties, Properties::as_ref);
    of_row::<E, P>(E::LAYOUTS[0].table, RowRef { partition_key: &keys.0, row_key: &keys.1, properties, ..row })
}

/// The key of an index's row, to be read from this part on, counted over both keys.
fn part_of<'a>(
    layout: &'static LayoutInfo,
    separator: Option<char>,
    part: usize,
    row: RowRef<'a>,
) -> Result<KeyReader<'a>> {
    let (prefix, parts, key, before) = match part.checked_sub(layout.partition.len()) {
        None => (layout.partition_prefix, layout.partition, row.partition_key, part),
        Some(before) => (layout.row_prefix, layout.row, row.row_key, before),
    };
    let mut reader = KeyReader::new(layout, prefix, parts, key, RowContext { table: layout.table, row })?;
    reader.skip_to(before, separator)?;
    Ok(reader)
}
