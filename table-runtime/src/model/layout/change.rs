//! Differences between a recorded layout and the program's, as far as stored rows depend on them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    info::{Layout, LayoutInfo},
    recorded::{EntityDescription, RecordedLayout},
};

/// The fields of an entity and the recorded ones, by which a renamed field is distinguished from another one. Rows do not
/// store their names.
pub struct ComparedFields<'a> {
    pub present: &'a Layout,
    /// Recorded fields that were stored as properties, and not in the primary key.
    pub stored: &'a BTreeSet<String>,
}

impl ComparedFields<'_> {
    fn has(&self, field: &str) -> bool {
        let parts = self.present.layouts.iter().flat_map(|layout| layout.partition.iter().chain(layout.row));
        parts.map(|part| part.field).chain(self.present.properties().map(|info| info.field)).any(|own| own == field)
    }

    /// Checks whether a recorded field has only been renamed: no present field has its old name, and no recorded property
    /// was that of a field with the new one.
    fn renamed(&self, was: &Value, is: Option<&Value>) -> bool {
        let is_gone = was.as_str().is_some_and(|was| !self.has(was));
        is_gone && !is.and_then(Value::as_str).is_some_and(|is| self.stored.contains(is))
    }

    /// Returns the differences: each place with its recorded and its present value. A field that is stored as a property is compared by
    /// the property's name, on which its index rows depend, and any other field by its own name.
    pub fn changes(&self, was: &Value, is: &Value) -> Vec<String> {
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

impl EntityDescription {
    /// Returns what is recorded of one layout: the layout itself and the settings of the whole entity that its rows depend
    /// on. The record of an index also holds the property of each of its fields.
    fn written(&self, layout: &Value) -> Value {
        let Value::Object(mut layout) = layout.clone() else { return Value::Null };
        let is_index = layout.get("index").is_some_and(|index| !index.is_null());
        if is_index {
            let name = |field: &mut Map<String, Value>| {
                let property = field.get("field").and_then(Value::as_str).and_then(|field| self.property_of(field));
                field.extend(property.map(|property| (PROPERTY.to_owned(), property.into())));
            };
            for key in ["partition", "row"] {
                let parts = layout.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
                parts.filter_map(Value::as_object_mut).for_each(name);
            }
            let when = layout.get_mut("index").and_then(|index| index.pointer_mut("/when/fields"));
            for field in when.and_then(Value::as_array_mut).into_iter().flatten() {
                let mut named = Map::from_iter([("field".to_owned(), field.take())]);
                name(&mut named);
                *field = named.into();
            }
        }
        let separator = self.separator.map(|separator| ("separator".to_owned(), separator.to_string().into()));
        let kind = self.kind.clone().filter(|_| !is_index).map(|kind| ("kind".to_owned(), kind.into()));
        layout.extend(separator.into_iter().chain(kind));
        layout.into()
    }

    /// Returns the property that stores a field of an index. A field of the primary key has none: it is read from the key,
    /// and the comparison of the primary keys covers it.
    fn property_of(&self, field: &str) -> Option<&str> {
        let property = self.properties.iter().find(|property| property.field == field)?;
        (!self.is_in_key(field)).then_some(&property.name)
    }

    fn is_in_key(&self, field: &str) -> bool {
        self.key_fields.iter().any(|key| key == field)
    }

    /// Returns what is recorded of the layout with this name; `None` if there is none.
    pub fn written_as(&self, name: &str) -> Option<Value> {
        self.layouts.iter().find(|layout| layout.name == name).map(|layout| self.written(&layout.json))
    }

    /// Returns the fields that are stored as properties alone, and not in the primary key.
    pub fn fields_of_properties(&self) -> BTreeSet<String> {
        let fields = self.properties.iter().map(|property| &property.field);
        fields.filter(|field| !self.is_in_key(field)).cloned().collect()
    }
}

/// Returns what is recorded of one layout of an entity, as JSON.
pub fn written(entity: &Layout, layout: &LayoutInfo) -> Value {
    EntityDescription::of(entity).written_as(layout.name).unwrap_or_default()
}

/// Returns the same as a value.
pub fn recorded(entity: &Layout, layout: &LayoutInfo) -> RecordedLayout {
    // Cannot fail: it is what `Record::layout` reads.
    serde_json::from_value(written(entity, layout)).unwrap_or_default()
}
