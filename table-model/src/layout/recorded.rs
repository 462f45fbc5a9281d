//! Layouts as the catalog records them.

use std::{borrow::Cow, collections::BTreeSet};

use serde::Deserialize as _;
use serde_json::Value;

use super::{
    info::{IndexInfo, Layout, LayoutInfo, StoredField},
    slice::SliceInfo,
};

/// Returns what is recorded of one layout of an entity.
pub fn recorded(entity: &Layout, layout: &LayoutInfo) -> LayoutInfo {
    let property_of = |field: &str| entity.properties().find(|info| info.field == field).map(|info| info.name.into());
    with_properties(layout.clone(), entity.layouts.first(), property_of)
}

/// Returns the fields that are stored as properties alone, and not in the primary key.
pub fn fields_of_properties(entity: &Layout) -> BTreeSet<String> {
    let fields = entity.properties().map(|property| property.field);
    fields.filter(|field| !is_in_key(entity.layouts.first(), field)).map(str::to_owned).collect()
}

/// Checks whether a field is a part of the primary key.
pub fn is_in_key(primary: Option<&LayoutInfo>, field: &str) -> bool {
    primary.is_some_and(|primary| primary.parts().any(|part| part.field == field))
}

/// Returns what is recorded of the layout: the fields of an index have the properties that store them, on which its
/// rows depend, and a field that is stored as several properties is several. A field of the primary key has no
/// property: it is read from the key, and the comparison of the primary keys covers it.
pub fn with_properties(
    mut layout: LayoutInfo,
    primary: Option<&LayoutInfo>,
    property_of: impl Fn(&str) -> Option<Cow<'static, str>>,
) -> LayoutInfo {
    let Some(index) = &mut layout.index else { return layout };
    let property = |field: &str| if is_in_key(primary, field) { None } else { property_of(field) };
    for part in layout.partition.to_mut().iter_mut().chain(layout.row.to_mut()) {
        part.property = property(&part.field);
    }
    for field in index.when.iter_mut().flat_map(|when| when.fields.to_mut()) {
        field.property = property(&field.field);
    }
    index.included = index.included.iter().flat_map(StoredField::stored).collect();
    layout
}

/// A layout that was read from its record.
#[derive(Clone, Debug)]
pub struct ReadLayout {
    /// What is known of the layout.
    pub layout: LayoutInfo,
    /// False if the place of the rows is all that is known of an index.
    pub is_readable: bool,
    /// False if the record has something else that this version of the crate does not know: a newer one wrote it.
    pub is_known: bool,
}

impl ReadLayout {
    /// Reads a recorded layout; `None` if it is damaged.
    pub fn of(recorded: &Value) -> Option<Self> {
        if let Ok(layout) = LayoutInfo::deserialize(recorded) {
            let known = serde_json::to_value(&layout).unwrap_or_default();
            return Some(Self { layout, is_readable: true, is_known: is_known(recorded, &known) });
        }
        // What is not known of an index or of slices must not hide where the rows are.
        let mut place = recorded.as_object()?.clone();
        let [index, slice] = ["index", "slice"].map(|key| place.remove(key).filter(|value| !value.is_null()));
        let mut layout: LayoutInfo = serde_json::from_value(place.into()).ok()?;
        let mut is_readable = true;
        layout.index = index.map(|index| {
            serde_json::from_value(index).unwrap_or_else(|_| {
                is_readable = false;
                IndexInfo::UNKNOWN
            })
        });
        layout.slice = slice.map(|slice| serde_json::from_value(slice).unwrap_or(SliceInfo::UNKNOWN));
        Some(Self { layout, is_readable, is_known: false })
    }
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
    use crate::layout::LayoutExt;

    #[test]
    fn an_index_of_a_newer_version_keeps_its_place() -> serde_json::Result<()> {
        let newer = r#"{"name": "tag", "table": "posts", "partition_prefix": "", "partition": [], "row_prefix": "tag-", "row":
            [{"field": "tag", "kind": "text", "encoding": "plain", "self_delimiting": false}],
            "index": {"scope": "EachElement", "holds": "Elements"}}"#;
        let read = ReadLayout::of(&serde_json::from_str(newer)?).expect("a layout");
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
        let read = ReadLayout::of(&known).expect("a layout");
        assert!(read.is_known && read.is_readable);
        for place in ["", "/partition/0", "/slice", "/index", "/index/when", "/index/when/fields/1"] {
            let mut newer = known.clone();
            newer.pointer_mut(place).expect("a place")["newer"] = json!(true);
            let read = ReadLayout::of(&newer).expect("a layout");
            assert!(!read.is_known && read.is_readable, "{place}");
        }
        let mut newer = known.clone();
        newer["slice"]["unit"] = json!("hour");
        let read = ReadLayout::of(&newer).expect("a layout");
        assert!(!read.is_known && read.is_readable && read.layout.is_sliced() && read.layout.index.is_some());
        assert!(read.layout.has_table_of_any_unit("posts2026010100"));
        assert!(ReadLayout::of(&json!({"name": "tag"})).is_none());
    }
}
