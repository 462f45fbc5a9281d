//! The keys that follow from other keys and from properties, by the recorded layouts.

use table_model::{
    LayoutInfo, PartInfo,
    key::{Escape, KeyBuffer},
    unstable::{
        key::escape,
        layout::{Encoding, LayoutExt, segments},
    },
};
use table_store::{RowRef, Ticks, Value, ValueRef};

use super::{IdentifiedRow, KeyValue, LayoutState, RecordedEntity, recorded::EntityValue};

/// The keys of the rows that an entity should have in an index: none if it has no value of a part, several with `each`.
///
/// `None` if they cannot be computed: a field is stored in a form of a program's own.
pub(super) type Keys = Option<Vec<(String, String)>>;

/// Checks whether every entity with a value has a row in the index: it is ready, and has no predicate.
pub(super) fn is_complete(entity: &RecordedEntity, index: &LayoutInfo) -> bool {
    entity.state(&index.name) == LayoutState::Ready && index.index.as_ref().is_some_and(|index| index.when.is_none())
}

/// Returns the keys of the rows that an entity should have in an index.
pub(super) fn keys(index: &LayoutInfo, row: RowRef<'_>, entity: &IdentifiedRow<'_>) -> Keys {
    let Some(each) = index.parts().find(|part| part.each) else {
        return keys_of(index, row, entity, None);
    };
    let name = each.property.as_deref()?;
    let stored = entity.entity.value(&index.name, name, row.properties);
    if matches!(stored, EntityValue::Nothing) {
        return Some(Vec::new());
    }
    let stored = stored.value()?;
    let is_in_parts = row.properties.get(&format!("{name}_Parts")).is_some();
    let elements = match stored {
        ValueRef::String(first) if is_in_parts => elements_of_json(&in_parts(row, name, first)?, &each.kind)?,
        ValueRef::String(json) => elements_of_json(json, &each.kind)?,
        ValueRef::Binary(bytes) if !is_in_parts => bytes.iter().map(|byte| Value::Int32((*byte).into())).collect(),
        _ => return None,
    };
    let keys = elements.iter().map(|element| keys_of(index, row, entity, Some(element)));
    let mut keys = keys.collect::<Option<Vec<_>>>()?.concat();
    // Elements that fold to the same text have one row.
    keys.sort_unstable();
    keys.dedup();
    Some(keys)
}

/// Returns the keys of the row of one element, if the index has a row for each, and otherwise of the entity's only row, if
/// it has one.
fn keys_of(index: &LayoutInfo, row: RowRef<'_>, entity: &IdentifiedRow<'_>, element: Option<&Value>) -> Keys {
    let mut is_absent = false;
    let mut part = |part: &PartInfo, escape: Escape, out: &mut KeyBuffer| {
        if let Some(element) = element.filter(|_| part.each) {
            return encode(part, element.as_ref(), escape, out);
        }
        if let Some(name) = &part.property {
            let value = entity.entity.value(&index.name, name, row.properties);
            is_absent |= matches!(value, EntityValue::Nothing);
            return encode(part, value.value()?, escape, out);
        }
        encode_known(part, &entity.partition, &entity.row, escape, out)
    };
    let [partition, own] = index.keys();
    let partition_key =
        if index.is_same_partition() { Some(row.partition_key.to_owned()) } else { key(index, partition, &mut part) };
    let row_key = key(index, own, &mut part);
    match (partition_key, row_key) {
        (Some(partition_key), Some(row_key)) => Some(vec![(partition_key, row_key)]),
        _ if is_absent => Some(Vec::new()),
        _ => None,
    }
}

/// Returns a text with `#[property(large)]` that is stored in parts, given the first one.
fn in_parts(row: RowRef<'_>, name: &str, first: &str) -> Option<String> {
    let Some(ValueRef::Int32(parts)) = row.properties.get(&format!("{name}_Parts")) else { return None };
    let mut whole = first.to_owned();
    for part in 2..=parts {
        let Some(ValueRef::String(more)) = row.properties.get(&format!("{name}_{part}")) else { return None };
        whole.push_str(more);
    }
    Some(whole)
}

/// Returns the elements of a collection that is stored as JSON, as properties of their own; `None` if it is another JSON
/// value.
fn elements_of_json(json: &str, kind: &str) -> Option<Vec<Value>> {
    let elements: Option<Vec<serde_json::Value>> = serde_json::from_str(json).ok()?;
    if kind == "name" {
        // Serde may write a variant by another name than that in keys.
        return None;
    }
    let is_text = matches!(kind, "text" | "character");
    let element = |element: serde_json::Value| match element {
        serde_json::Value::String(text) => Some(Value::String(text)),
        serde_json::Value::Bool(bool) => Some(Value::Boolean(bool)),
        serde_json::Value::Number(number) if number.is_i64() => number.as_i64().map(Value::Int64),
        // A number of more digits, and types with a form of their own, such as a date of the crate `time`.
        other => (!is_text).then(|| Value::String(other.to_string())),
    };
    elements.unwrap_or_default().into_iter().map(element).collect()
}

/// Returns the keys of the entity that a row of an index leads to; `None` if they cannot be read.
pub(super) fn owner(row: RowRef<'_>, found: &IdentifiedRow<'_>) -> Option<(String, String)> {
    let index = found.layout.index.as_ref()?;
    let primary = found.entity.primary()?;
    let mut part = |part: &PartInfo, escape: Escape, out: &mut KeyBuffer| {
        let pointer = index
            .pointer
            .iter()
            .find(|pointer| pointer.field == part.field)
            .and_then(|pointer| row.properties.get(&pointer.name));
        match pointer {
            Some(value) => encode(part, value, escape, out),
            None => encode_known(part, &found.partition, &found.row, escape, out),
        }
    };
    let [partition, own] = primary.keys();
    let partition_key = if found.layout.is_same_partition() {
        row.partition_key.to_owned()
    } else {
        key(primary, partition, &mut part)?
    };
    Some((partition_key, key(primary, own, &mut part)?))
}

/// Writes a key from its parts.
fn key(
    layout: &LayoutInfo,
    (prefix, parts): (&str, &[PartInfo]),
    write: &mut impl FnMut(&PartInfo, Escape, &mut KeyBuffer) -> Option<()>,
) -> Option<String> {
    let mut key = prefix.to_owned();
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let mut text = KeyBuffer::new();
        write(part, escape(layout, last), &mut text)?;
        key.push_str(text.as_str());
        if !last {
            key.push(segments::delimiter(layout, part));
        }
    }
    Some(key)
}

/// Writes a part from another part of the same field: one that holds the whole value, or the same encoding of it.
fn encode_known(
    part: &PartInfo,
    partition: &[KeyValue],
    row: &[KeyValue],
    escape: Escape,
    out: &mut KeyBuffer,
) -> Option<()> {
    let of_field = || partition.iter().chain(row).filter(|known| known.field == part.field);
    let known =
        of_field().find(|known| known.is_whole).or_else(|| of_field().find(|known| known.encoding == part.encoding))?;
    if !known.is_whole && known.is_number {
        // The number of a bucket does not depend on its place.
        out.push_str(&known.value);
        return Some(());
    }
    match &*part.kind {
        "time" => encode(part, ValueRef::DateTime(known.value.parse::<Ticks>().ok()?), escape, out),
        "bool" => encode(part, ValueRef::Boolean(known.value == "true"), escape, out),
        _ => encode(part, ValueRef::String(&known.value), escape, out),
    }
}

/// Writes a part of a stored value; `None` if the property holds the value in another form.
fn encode(part: &PartInfo, value: ValueRef<'_>, escape: Escape, out: &mut KeyBuffer) -> Option<()> {
    Encoding::known(part)?.encode(&part.kind, value, escape, out)?.ok()
}
