//! What differs between a layout that was written down and the program's, as far as stored rows depend on it.

use serde_json::Value;

use super::info::{Layout, LayoutInfo, PropertyInfo};

/// The fields of an entity, in whose light a field of another name was renamed or is another one.
pub(crate) struct Fields(Vec<&'static str>);

impl Fields {
    pub(crate) fn of(layout: &Layout) -> Self {
        let parts = layout.layouts.iter().flat_map(|layout| layout.partition.iter().chain(layout.row));
        let properties = layout.properties.iter().map(|PropertyInfo { field, .. }| *field);
        Self(parts.map(|part| part.field).chain(properties).collect())
    }

    /// Whether a field that stood somewhere only has another name now: names of fields are not stored.
    fn renamed(&self, was: &Value) -> bool {
        was.as_str().is_some_and(|was| !self.0.contains(&was))
    }

    /// Whether a layout that was recorded is one of this entity: its primary key, or an index beside the same one.
    pub(crate) fn are_of(&self, recorded: &Value, primary: &Value) -> bool {
        let of = if recorded[OF].is_null() { recorded } else { &recorded[OF] };
        self.changes(of, primary).is_empty()
    }

    /// What differs: each place with what stood there and what stands there now. Of an index, that is not the primary
    /// key, which is looked at for itself.
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

/// Under this name the record of an index holds the entity's primary key.
const OF: &str = "of";

/// What is written down of one layout: with what the whole entity decides of its rows, and of an index whose it is.
pub(crate) fn written(entity: &Layout, layout: &LayoutInfo) -> Value {
    // They hold text, numbers and bools only.
    let mut value = serde_json::to_value(layout).unwrap_or_default();
    if let Value::Object(value) = &mut value {
        value.extend(entity.separator.map(|separator| ("separator".to_owned(), separator.to_string().into())));
        match (&layout.index, entity.layouts) {
            (None, _) => value.extend(entity.kind.map(|kind| ("kind".to_owned(), kind.into()))),
            // Whose index it is.
            (Some(_), [primary, ..]) if primary.index.is_none() => {
                value.extend([(OF.to_owned(), written(entity, primary))]);
            }
            _ => {}
        }
    }
    value
}

/// Whether both are keys of the same fields under the same prefixes, of which one is encoded in another way.
pub(crate) fn are_alike(one: &Value, other: &Value) -> bool {
    let fields = |value: &Value, key: &str| -> Vec<Value> {
        let parts = value[key].as_array();
        parts.into_iter().flatten().map(|part| part["field"].clone()).collect()
    };
    ["table", "kind", "partition_prefix", "row_prefix"].into_iter().all(|name| one[name] == other[name])
        && ["partition", "row"].into_iter().all(|key| fields(one, key) == fields(other, key))
}
