//! Layouts that the catalog records, as values.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use super::{
    encoding::Encoding,
    info::{Holds, Layout, Scope, delimiter, fmt_part},
    slice::is_table_of,
    stored::are_siblings,
};

/// The recorded layout of an entity's primary key or of one of its indexes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "StoredLayout")]
#[non_exhaustive]
pub struct RecordedLayout {
    /// Name of the index, or `key` for the primary key.
    pub name: String,
    /// The table; with slices, the beginning of their names.
    pub table: String,
    /// The state.
    pub state: LayoutState,
    /// The partition key.
    pub partition: RecordedKey,
    /// The row key.
    pub row: RecordedKey,
    /// The only delimiter of the keys, if the entity has one.
    pub separator: Option<char>,
    /// Description of the index; `None` for a primary key.
    pub index: Option<RecordedIndex>,
    /// The rule that computes the table, if there is a table for each year, month or day.
    pub slice: Option<RecordedSlice>,
    /// Value of the property `EntityType` of the entity's rows; `None` for an index, and if they have none.
    pub(crate) kind: Option<String>,
    /// False if the record is damaged, or if a newer version of this crate has written what this one does not know.
    pub(crate) is_readable: bool,
}

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

/// A recorded index: see [`IndexInfo`](crate::layout::IndexInfo).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedIndex {
    /// Location of the rows.
    pub scope: Scope,
    /// `true` if at most one entity can have a value.
    #[serde(default)]
    pub unique: bool,
    /// The predicate that decides which entities have a row; `None` if all of them have one.
    #[serde(default)]
    pub when: Option<RecordedWhen>,
    /// Contents of the rows.
    pub holds: Holds,
    /// Fields of the primary key that the index's own keys do not hold, and the property that holds each.
    #[serde(default, deserialize_with = "properties_by_field")]
    pub pointer: BTreeMap<String, String>,
    /// Fields of the entity that the rows include, and the property that holds each.
    #[serde(default, deserialize_with = "properties_by_field")]
    pub included: BTreeMap<String, String>,
}

/// The predicate of a recorded index.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedWhen {
    /// The fields that the predicate takes, in order.
    #[serde(default, deserialize_with = "fields")]
    pub fields: Vec<String>,
    /// Path of the function.
    pub path: String,
}

/// A recorded key.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordedKey {
    /// Text with which the key begins; the whole key if there are no parts.
    pub prefix: String,
    /// The parts.
    pub parts: Vec<RecordedPart>,
}

/// A recorded part of a key: see [`PartInfo`](crate::layout::PartInfo).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedPart {
    /// The field.
    pub field: String,
    /// Kind of the field: the type of an integer, or else `text`, `character`, `name`, `decimal`, `guid`, `time`, `date` or
    /// `bool`.
    pub kind: String,
    /// Encoding as the attribute states it, such as `first = 1, uppercase`.
    pub encoding: String,
    /// Name of the property that stores the field, for a part of an index that is no part of the primary key.
    #[serde(default)]
    pub property: Option<String>,
    /// True if the part holds one element of the field: an index with `each` has a row for each element.
    #[serde(default)]
    pub each: bool,
    pub(crate) self_delimiting: bool,
}

/// The part as `{id: pad = 4}`, or `{each(tags)}` for an element of a field.
impl fmt::Display for RecordedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_part(f, &self.field, &self.encoding, self.each)
    }
}

/// Rule of a recorded layout that has a table for each year, month or day.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedSlice {
    /// The field with the time.
    #[serde(default)]
    pub field: String,
    /// `year`, `month` or `day`.
    pub unit: String,
}

/// The form in which the catalog stores a layout.
#[derive(Deserialize)]
struct StoredLayout {
    name: String,
    table: String,
    #[serde(default)]
    partition_prefix: String,
    #[serde(default)]
    partition: Vec<RecordedPart>,
    #[serde(default)]
    row_prefix: String,
    #[serde(default)]
    row: Vec<RecordedPart>,
    #[serde(default)]
    separator: Option<char>,
    #[serde(default)]
    index: Value,
    #[serde(default)]
    slice: Option<RecordedSlice>,
    #[serde(default)]
    kind: Option<String>,
}

impl From<StoredLayout> for RecordedLayout {
    fn from(stored: StoredLayout) -> Self {
        let StoredLayout { name, table, separator, slice, kind, .. } = stored;
        // What is not known of an index must not hide where its rows are.
        let known = (!stored.index.is_null()).then(|| serde_json::from_value(stored.index));
        let is_readable = !matches!(known, Some(Err(_)));
        let index = known.map(|known| known.unwrap_or_else(|_| RecordedIndex::unknown()));
        let partition = RecordedKey { prefix: stored.partition_prefix, parts: stored.partition };
        let row = RecordedKey { prefix: stored.row_prefix, parts: stored.row };
        let state = LayoutState::default();
        Self { name, table, state, partition, row, separator, index, slice, kind, is_readable }
    }
}

impl RecordedIndex {
    /// Returns an index of which nothing is known.
    fn unknown() -> Self {
        let (scope, holds) = (Scope::CrossPartition, Holds::Pointer);
        Self { scope, unique: false, when: None, holds, pointer: BTreeMap::new(), included: BTreeMap::new() }
    }
}

/// A property of an index's rows.
#[derive(Deserialize)]
struct StoredProperty {
    field: String,
    name: String,
}

fn properties_by_field<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let properties = Vec::<StoredProperty>::deserialize(from)?;
    Ok(properties.into_iter().map(|property| (property.field, property.name)).collect())
}

/// Reads the fields of a predicate, with or without their properties.
fn fields<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Field {
        Name(String),
        Stored { field: String },
    }

    let fields = Vec::<Field>::deserialize(from)?;
    Ok(fields
        .into_iter()
        .map(|field| match field {
            Field::Name(field) | Field::Stored { field } => field,
        })
        .collect())
}

/// Reads a value; the default if it is damaged.
fn unless_damaged<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// Reads a lifecycle as texts such as `expires = At`.
fn options<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let properties: BTreeMap<String, String> = unless_damaged(from)?;
    Ok(properties.into_iter().map(|(option, property)| format!("{option} = {property}")).collect())
}

impl RecordedPart {
    /// Returns the encoding; `None` if this release does not know it.
    pub(crate) fn parsed(&self) -> Option<Encoding> {
        Some(Encoding::parse(&self.encoding)).filter(|encoding| encoding.is_known)
    }

    /// Returns the delimiter between this part and the next.
    pub(crate) fn delimiter(&self, separator: Option<char>) -> char {
        delimiter(separator, self.self_delimiting)
    }
}

impl RecordedLayout {
    /// Checks whether the table is the layout's, or one of its slices.
    pub fn has_table(&self, table: &str) -> bool {
        let digits = match self.slice.as_ref().map(|slice| slice.unit.as_str()) {
            None => 0,
            Some("year") => 4,
            Some("month") => 6,
            Some(_) => 8,
        };
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

    /// Checks whether the index rows are in the partitions of their entities.
    pub(crate) fn is_same_partition(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.scope == Scope::SamePartition)
    }

    /// Checks whether there is a table for each year, month or day.
    pub fn is_sliced(&self) -> bool {
        self.slice.is_some()
    }
}

/// The description of an entity that [`assert_layout!`](crate::assert_layout) stores: a [`Layout`] that was written.
#[derive(Default, Deserialize)]
pub struct EntityDescription {
    pub layouts: Vec<DescribedLayout>,
    #[serde(default, deserialize_with = "unless_damaged")]
    pub properties: Vec<DescribedProperty>,
    #[serde(default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) separator: Option<char>,
    #[serde(default)]
    pub write_id: bool,
    /// The options of the lifecycle, such as `expires = At`.
    #[serde(default, deserialize_with = "options")]
    pub lifecycle: Vec<String>,
    /// The fields of the primary key.
    #[serde(skip)]
    pub(super) key_fields: Vec<String>,
}

/// A layout in a description.
pub struct DescribedLayout {
    pub name: String,
    pub(super) json: Value,
}

/// A property in a description.
#[derive(Deserialize)]
pub struct DescribedProperty {
    pub(super) field: String,
    pub name: String,
    pub edm: Option<String>,
}

impl EntityDescription {
    /// Checks whether there is another field of the struct or variant in which the field with this path is.
    pub fn has_sibling(&self, field: &str) -> bool {
        self.properties.iter().any(|property| are_siblings(&property.field, field))
    }

    pub fn of(layout: &Layout) -> Self {
        // Cannot fail: a layout holds only text, numbers and bools.
        serde_json::to_value(layout).ok().and_then(Self::read).unwrap_or_default()
    }

    /// Reads a description; `None` if it is none.
    pub fn read(json: Value) -> Option<Self> {
        let mut read: Self = serde_json::from_value(json).ok()?;
        let primary = read.layouts.first().and_then(|layout| serde_json::from_value(layout.json.clone()).ok());
        let primary = primary.filter(|first: &RecordedLayout| first.index.is_none()).unwrap_or_default();
        let parts = primary.partition.parts.into_iter().chain(primary.row.parts);
        read.key_fields = parts.map(|part| part.field).collect();
        Some(read)
    }
}

impl<'de> Deserialize<'de> for DescribedLayout {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        struct Named {
            name: String,
        }

        // A damaged layout is compared as one without a name.
        let json = Value::deserialize(from)?;
        let Named { name } = Named::deserialize(&json).unwrap_or_default();
        Ok(Self { name, json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_a_newer_version_keeps_its_place() -> serde_json::Result<()> {
        let newer = r#"{"name": "tag", "table": "posts", "partition_prefix": "", "partition": [], "row_prefix": "tag-", "row":
            [{"field": "tag", "kind": "text", "encoding": "plain", "self_delimiting": false}],
            "index": {"scope": "EachElement", "holds": "Elements"}}"#;
        let read: RecordedLayout = serde_json::from_str(newer)?;
        assert!(!read.is_readable && read.index.is_some());
        assert_eq!((&*read.table, &*read.row.prefix, read.row.parts.len()), ("posts", "tag-", 1));
        Ok(())
    }
}
