//! Layouts as the catalog records them.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    info::{Holds, IndexInfo, Layout, LayoutInfo, StoredField},
    slice::{SliceInfo, SliceUnit, is_table_of},
};

/// State of a layout, as the catalog records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "`docs/catalog.md` describes them")]
pub enum LayoutState {
    Building,
    #[default]
    Ready,
    Leaving,
    Gone,
}

impl fmt::Display for LayoutState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Building => "building",
            Self::Ready => "ready",
            Self::Leaving => "leaving",
            Self::Gone => "gone",
        })
    }
}

impl Layout {
    /// Returns what is recorded of one layout.
    pub fn recorded(&self, layout: &LayoutInfo) -> LayoutInfo {
        let property_of = |field: &str| self.properties().find(|info| info.field == field).map(|info| info.name.into());
        layout.clone().recorded(self.layouts.first(), property_of)
    }

    /// Returns the fields that are stored as properties alone, and not in the primary key.
    pub fn fields_of_properties(&self) -> BTreeSet<String> {
        let fields = self.properties().map(|property| property.field);
        fields.filter(|field| !is_in_key(self.layouts.first(), field)).map(str::to_owned).collect()
    }
}

/// Checks whether a field is a part of the primary key.
pub fn is_in_key(primary: Option<&LayoutInfo>, field: &str) -> bool {
    primary.is_some_and(|primary| primary.parts().any(|part| part.field == field))
}

impl LayoutInfo {
    /// Reads a recorded layout; `None` if it is damaged.
    pub fn read(recorded: &Value) -> Option<ReadLayout> {
        if let Ok(layout) = Self::deserialize(recorded) {
            let known = serde_json::to_value(&layout).unwrap_or_default();
            return Some(ReadLayout { layout, is_readable: true, is_known: is_known(recorded, &known) });
        }
        // What is not known of an index or of slices must not hide where the rows are.
        let mut place = recorded.as_object()?.clone();
        let [index, slice] = ["index", "slice"].map(|key| place.remove(key).filter(|value| !value.is_null()));
        let mut layout: Self = serde_json::from_value(place.into()).ok()?;
        let mut is_readable = true;
        layout.index = index.map(|index| {
            serde_json::from_value(index).unwrap_or_else(|_| {
                is_readable = false;
                IndexInfo::UNKNOWN
            })
        });
        layout.slice = slice.map(|slice| serde_json::from_value(slice).unwrap_or(SliceInfo::UNKNOWN));
        Some(ReadLayout { layout, is_readable, is_known: false })
    }

    /// Returns what is recorded of the layout: the fields of an index have the properties that store them, on which its
    /// rows depend, and a field that is stored as several properties is several. A field of the primary key has no
    /// property: it is read from the key, and the comparison of the primary keys covers it.
    pub fn recorded(mut self, primary: Option<&Self>, property_of: impl Fn(&str) -> Option<Cow<'static, str>>) -> Self {
        let Some(index) = &mut self.index else { return self };
        let property = |field: &str| if is_in_key(primary, field) { None } else { property_of(field) };
        for part in self.partition.to_mut().iter_mut().chain(self.row.to_mut()) {
            part.property = property(&part.field);
        }
        for field in index.when.iter_mut().flat_map(|when| when.fields.to_mut()) {
            field.property = property(&field.field);
        }
        index.included = index.included.iter().flat_map(StoredField::stored).collect();
        self
    }

    /// Checks whether the table is the layout's, or one of its slices.
    pub fn has_table(&self, table: &str) -> bool {
        let digits = self.slice.as_ref().map_or(0, |slice| match slice.unit {
            SliceUnit::Year => 4,
            SliceUnit::Month => 6,
            SliceUnit::Day => 8,
        });
        self.has_table_of_any_unit(table) && table.len() == self.table.len() + digits
    }

    /// Checks whether the table is the layout's, or a slice of any unit.
    pub(crate) fn has_table_of_any_unit(&self, table: &str) -> bool {
        is_table_of(table, &self.table, self.is_sliced())
    }

    /// Checks whether the index has a row for each value with the row keys of its entities.
    pub(crate) fn is_list(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.holds == Holds::List)
    }

    /// Checks whether there is a table for each year, month or day.
    pub fn is_sliced(&self) -> bool {
        self.slice.is_some()
    }
}

/// A layout that was read from its record.
#[derive(Clone, Debug)]
pub struct ReadLayout {
    pub layout: LayoutInfo,
    /// False if the place of the rows is all that is known of an index.
    pub is_readable: bool,
    /// False if the record has something else that this version of the crate does not know: a newer one wrote it.
    pub is_known: bool,
}

/// Checks whether all that is recorded was read.
fn is_known(recorded: &Value, read: &Value) -> bool {
    match (recorded, read) {
        (Value::Object(recorded), Value::Object(read)) => {
            recorded.iter().all(|(name, value)| read.get(name).map_or(value.is_null(), |read| is_known(value, read)))
        }
        // A field of a predicate may be recorded as an object or by its name.
        (Value::Object(recorded), Value::String(_)) => {
            recorded.iter().all(|(name, value)| name == "field" || value.is_null())
        }
        (Value::Array(recorded), Value::Array(read)) => {
            recorded.iter().zip(read).all(|(one, other)| is_known(one, other))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_index_of_a_newer_version_keeps_its_place() -> serde_json::Result<()> {
        let newer = r#"{"name": "tag", "table": "posts", "partition_prefix": "", "partition": [], "row_prefix": "tag-", "row":
            [{"field": "tag", "kind": "text", "encoding": "plain", "self_delimiting": false}],
            "index": {"scope": "EachElement", "holds": "Elements"}}"#;
        let read = LayoutInfo::read(&serde_json::from_str(newer)?).expect("a layout");
        assert!(!read.is_known && !read.is_readable && read.layout.index.is_some());
        assert_eq!((&*read.layout.table, &*read.layout.row_prefix, read.layout.row.len()), ("posts", "tag-", 1));
        Ok(())
    }

    #[test]
    fn what_a_newer_version_adds_is_noticed_and_hides_nothing_else() {
        let known = json!({
            "name": "tag", "table": "posts", "partition": [{"field": "tag", "kind": "text", "encoding": "plain",
            "self_delimiting": false}], "row_prefix": "tag-", "slice": {"field": "at", "unit": "day"},
            "index": {"scope": "CrossPartition", "holds": "Pointer", "when": {"path": "f", "fields": ["a", {"field": "b"}]}},
        });
        let read = LayoutInfo::read(&known).expect("a layout");
        assert!(read.is_known && read.is_readable);
        for place in ["", "/partition/0", "/slice", "/index", "/index/when", "/index/when/fields/1"] {
            let mut newer = known.clone();
            newer.pointer_mut(place).expect("a place")["newer"] = json!(true);
            let read = LayoutInfo::read(&newer).expect("a layout");
            assert!(!read.is_known && read.is_readable, "{place}");
        }
        let mut newer = known.clone();
        newer["slice"]["unit"] = json!("hour");
        let read = LayoutInfo::read(&newer).expect("a layout");
        assert!(!read.is_known && read.is_readable && read.layout.is_sliced() && read.layout.index.is_some());
        assert!(read.layout.has_table_of_any_unit("posts2026010100"));
        assert!(LayoutInfo::read(&json!({"name": "tag"})).is_none());
    }
}
