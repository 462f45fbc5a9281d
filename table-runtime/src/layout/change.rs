//! Differences between a recorded layout and the program's, as far as stored rows depend on them.

use serde_json::Value;

use super::info::{Layout, LayoutInfo, PropertyInfo};

/// Names of an entity's present fields. If a recorded field is not among them, it was renamed; otherwise a different
/// name in its place is another field.
pub(crate) struct Fields(Vec<&'static str>);

impl Fields {
    pub(crate) fn of(layout: &Layout) -> Self {
        let parts = layout.layouts.iter().flat_map(|layout| layout.partition.iter().chain(layout.row));
        let properties = layout.properties.iter().map(|PropertyInfo { field, .. }| *field);
        Self(parts.map(|part| part.field).chain(properties).collect())
    }

    /// Checks whether a recorded field has only been renamed: no present field has its old name. Rows do not store the
    /// names of fields.
    fn renamed(&self, was: &Value) -> bool {
        was.as_str().is_some_and(|was| !self.0.contains(&was))
    }

    /// Checks whether a recorded layout belongs to this entity: it is the entity's primary key, or an index that was
    /// recorded with the same primary key.
    pub(crate) fn are_of(&self, recorded: &Value, primary: &Value) -> bool {
        let of = if recorded[OF].is_null() { recorded } else { &recorded[OF] };
        self.changes(of, primary).is_empty()
    }

    /// Returns the differences: each place with its recorded and its present value. The primary key that the record of
    /// an index holds is skipped, because it is compared on its own.
    pub(crate) fn changes(&self, was: &Value, is: &Value) -> Vec<String> {
        let mut changes = Vec::new();
        self.compare("", Some(was), Some(is), &mut changes);
        changes
    }

    fn compare(&self, place: &str, was: Option<&Value>, is: Option<&Value>, changes: &mut Vec<String>) {
        match (was, is) {
            (Some(Value::Object(was)), Some(Value::Object(is))) => {
                let gone = was.keys().filter(|name| !is.contains_key(*name));
                for name in is.keys().chain(gone) {
                    let (was, is) = (was.get(name), is.get(name));
                    if name == OF || name == "field" && was.is_some_and(|was| self.renamed(was)) {
                        continue;
                    }
                    let dot = if place.is_empty() { "" } else { "." };
                    self.compare(&format!("{place}{dot}{name}"), was, is, changes);
                }
            }
            (Some(Value::Array(was)), Some(Value::Array(is))) => {
                for at in 0..was.len().max(is.len()) {
                    self.compare(&format!("{place}[{at}]"), was.get(at), is.get(at), changes);
                }
            }
            (Some(was), Some(is)) if was == is => {}
            (Some(was), Some(is)) => changes.push(format!("`{place}` was {was} and is {is}")),
            (Some(was), None) => changes.push(format!("`{place}` was {was} and is gone")),
            (None, Some(is)) => changes.push(format!("`{place}` is new: {is}")),
            (None, None) => {}
        }
    }
}

/// Name under which the record of an index holds the entity's primary key.
const OF: &str = "of";

/// Returns what is recorded of one layout: the layout itself and the settings of the whole entity that its rows depend
/// on. The record of an index also holds the entity's primary key.
pub(crate) fn written(entity: &Layout, layout: &LayoutInfo) -> Value {
    // Cannot fail: layouts hold only text, numbers and bools.
    let mut value = serde_json::to_value(layout).unwrap_or_default();
    if let Value::Object(value) = &mut value {
        value.extend(entity.separator.map(|separator| ("separator".to_owned(), separator.to_string().into())));
        match (&layout.index, entity.layouts) {
            (None, _) => value.extend(entity.kind.map(|kind| ("kind".to_owned(), kind.into()))),
            // Identifies the entity to which the index belongs.
            (Some(_), [primary, ..]) if primary.index.is_none() => {
                value.extend([(OF.to_owned(), written(entity, primary))]);
            }
            _ => {}
        }
    }
    value
}

/// Checks whether both are keys of the same fields under the same prefixes, so that they can only differ in an
/// encoding.
pub(crate) fn are_alike(one: &Value, other: &Value) -> bool {
    let fields = |value: &Value, key: &str| -> Vec<Value> {
        let parts = value[key].as_array();
        parts.into_iter().flatten().map(|part| part["field"].clone()).collect()
    };
    ["table", "kind", "partition_prefix", "row_prefix"].into_iter().all(|name| one[name] == other[name])
        && ["partition", "row"].into_iter().all(|key| fields(one, key) == fields(other, key))
}
