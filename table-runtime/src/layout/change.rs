//! Differences between a recorded layout and the program's, as far as stored rows depend on them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::info::{Layout, LayoutInfo, PropertyInfo};

/// Names of an entity's fields, by which a renamed field is told from another one. Rows do not store them.
pub(crate) struct Fields {
    present: Vec<&'static str>,
    /// Recorded fields that were stored as properties, and not in the primary key.
    stored: BTreeSet<String>,
}

impl Fields {
    pub(crate) fn of(layout: &Layout, stored: BTreeSet<String>) -> Self {
        let parts = layout.layouts.iter().flat_map(|layout| layout.partition.iter().chain(layout.row));
        let properties = layout.properties.iter().map(|PropertyInfo { field, .. }| *field);
        Self { present: parts.map(|part| part.field).chain(properties).collect(), stored }
    }

    /// Checks whether a recorded field has only been renamed: no present field has its old name, and no recorded property
    /// was that of a field with the new one.
    fn renamed(&self, was: &Value, is: Option<&Value>) -> bool {
        let is_gone = was.as_str().is_some_and(|was| !self.present.contains(&was));
        is_gone && !is.and_then(Value::as_str).is_some_and(|is| self.stored.contains(is))
    }

    /// Returns the differences: each place with its recorded and its present value. A field that is stored as a property is compared by
    /// the property's name, on which its index rows depend, and any other field by its own name.
    pub(crate) fn changes(&self, was: &Value, is: &Value) -> Vec<String> {
        let mut changes = Vec::new();
        self.compare("", Some(was), Some(is), &mut changes);
        changes
    }

    fn compare(&self, place: &str, was: Option<&Value>, is: Option<&Value>, changes: &mut Vec<String>) {
        match (was, is) {
            (Some(Value::Object(was)), Some(Value::Object(is))) => {
                let gone = was.keys().filter(|name| !is.contains_key(*name));
                // A field of the primary key has no property here.
                let has_properties = was.contains_key(PROPERTY) && is.contains_key(PROPERTY);
                for name in is.keys().chain(gone) {
                    let (was, is) = (was.get(name), is.get(name));
                    let is_skipped = match name.as_str() {
                        PROPERTY => !has_properties,
                        "field" => has_properties || was.is_some_and(|was| self.renamed(was, is)),
                        // The service ignores case in the names of tables.
                        "table" => {
                            let [was, is] = [was, is].map(|table| table.and_then(Value::as_str).unwrap_or_default());
                            was.eq_ignore_ascii_case(is)
                        }
                        _ => false,
                    };
                    if is_skipped {
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

/// Name under which the record of an index holds the property that stores a field.
const PROPERTY: &str = "property";

/// Returns what is recorded of one layout: the layout itself and the settings of the whole entity that its rows depend
/// on. The record of an index also holds the property of each of its fields.
pub(crate) fn written(entity: &Layout, layout: &LayoutInfo) -> Value {
    // Cannot fail: layouts hold only text, numbers and bools.
    let json = |layout| serde_json::to_value(layout).unwrap_or_default();
    written_of(&serde_json::to_value(entity).unwrap_or_default(), json(layout))
}

/// Returns the same as [`written`], from the JSON of the entity's whole layout and that of one of its layouts.
pub(crate) fn written_of(entity: &Value, mut layout: Value) -> Value {
    let is_index = !layout["index"].is_null();
    if is_index {
        let mut for_each = |place: &str, describe: &dyn Fn(&mut Value)| {
            layout.pointer_mut(place).and_then(Value::as_array_mut).into_iter().flatten().for_each(describe);
        };
        for_each("/partition", &|part| name_property(entity, part));
        for_each("/row", &|part| name_property(entity, part));
        for_each("/index/when/fields", &|field| {
            *field = json!({ "field": field.take() });
            name_property(entity, field);
        });
    }
    let mut add = |name: &str, value: &Value| {
        if let Value::Object(layout) = &mut layout
            && !value.is_null()
        {
            layout.insert(name.to_owned(), value.clone());
        }
    };
    add("separator", &entity["separator"]);
    if !is_index {
        add("kind", &entity["kind"]);
    }
    layout
}

/// Adds to the description of a field of an index the name of the property that stores the field. A field of the primary
/// key has none: it is read from the key, and the comparison of the primary keys covers it.
fn name_property(entity: &Value, described: &mut Value) {
    let Value::Object(described) = described else { return };
    let (primary, field) = (&entity["layouts"][0], described.get("field"));
    let find = |list: &'_ Value| list.as_array()?.iter().find(|other| other.get("field") == field).cloned();
    let is_in_key = primary["index"].is_null() && ["partition", "row"].iter().any(|key| find(&primary[*key]).is_some());
    if let (false, Some(property)) = (is_in_key, find(&entity["properties"])) {
        described.insert(PROPERTY.to_owned(), property["name"].clone());
    }
}

/// Returns the fields of an entity that are stored as properties alone, and not in the primary key.
pub(crate) fn fields_of_properties(entity: &Value) -> BTreeSet<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let primary = &entity["layouts"][0];
    let in_key: Vec<_> = ["partition", "row"].iter().flat_map(|key| list(&primary[*key])).collect();
    let properties = list(&entity["properties"]);
    let alone = properties.iter().filter(|property| in_key.iter().all(|part| part["field"] != property["field"]));
    alone.filter_map(|property| property["field"].as_str().map(str::to_owned)).collect()
}
