//! What the catalog records about entities, as values.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use super::{RecordsByEntity, distinct};
use crate::{
    Holds, Scope,
    key::recorded::RecordedEncoding,
    tables::{Facts, Record, State},
};

/// An entity that the catalog records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedEntity {
    /// The name under which the entity is recorded: its kind, or the name of its struct.
    pub name: String,
    /// All names that the entity has had.
    pub names: Vec<String>,
    /// Value of the property `EntityType` of its rows, if they have one.
    pub kind: Option<String>,
    /// The primary key, which is missing if its record is damaged, and then the indexes in the order of their names.
    pub layouts: Vec<RecordedLayout>,
    /// Types of the properties by the version of the rows and the name of the property, such as `Edm.Int32 in 0..=255`.
    pub properties: BTreeMap<u32, BTreeMap<String, String>>,
    /// The place to which a migration has moved the entity.
    pub moved: Option<String>,
}

/// The recorded layout of an entity's primary key or of one of its indexes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedLayout {
    /// Name of the index, or `key` for the primary key.
    pub name: String,
    /// The table; with slices, the beginning of their names.
    pub table: String,
    /// The state.
    #[serde(skip)]
    pub state: LayoutState,
    /// The partition key.
    #[serde(skip)]
    pub partition: RecordedKey,
    /// The row key.
    #[serde(skip)]
    pub row: RecordedKey,
    /// The only delimiter of the keys, if the entity has one.
    #[serde(default)]
    pub separator: Option<char>,
    /// Description of the index; `None` for a primary key.
    #[serde(skip)]
    pub index: Option<RecordedIndex>,
    #[serde(default)]
    slice: Option<Slice>,
    #[serde(default)]
    kind: Option<String>,
    // The four members of the record that make up the two keys.
    #[serde(default)]
    partition_prefix: String,
    #[serde(default, rename = "partition")]
    partition_parts: Vec<RecordedPart>,
    #[serde(default)]
    row_prefix: String,
    #[serde(default, rename = "row")]
    row_parts: Vec<RecordedPart>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Slice {
    unit: String,
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

impl From<State> for LayoutState {
    fn from(state: State) -> Self {
        match state {
            State::Building => Self::Building,
            State::Ready => Self::Ready,
            State::Leaving => Self::Leaving,
            State::Gone => Self::Gone,
        }
    }
}

/// A recorded index: see [`IndexInfo`](crate::IndexInfo).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedIndex {
    /// Location of the rows.
    pub scope: Scope,
    /// `true` if at most one entity can have a value.
    pub unique: bool,
    /// Path of the predicate that decides which entities have a row; `None` if all of them have one.
    pub when: Option<String>,
    /// Contents of the rows.
    pub holds: Holds,
    /// Fields of the primary key that the index's own keys do not hold, and the property that holds each.
    pub pointer: BTreeMap<String, String>,
    /// Properties of the entity that the rows include.
    pub included: Vec<String>,
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

/// A recorded part of a key: see [`PartInfo`](crate::PartInfo).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct RecordedPart {
    /// The field.
    pub field: String,
    /// Kind of the field: the type of an integer, or else `text`, `character`, `name`, `guid`, `time`, `date` or `bool`.
    pub kind: String,
    /// Encoding as the attribute states it, such as `first = 1, uppercase`.
    pub encoding: String,
    /// Name of the property that stores the field, for a part of an index that is no part of the primary key.
    #[serde(default)]
    pub property: Option<String>,
    pub(super) self_delimiting: bool,
}

impl RecordedPart {
    /// Returns the encoding; `None` if this release does not know it.
    pub(crate) fn parsed(&self) -> Option<RecordedEncoding> {
        RecordedEncoding::parse(&self.encoding)
    }

    /// Returns the delimiter between this part and the next.
    pub(super) fn delimiter(&self, separator: Option<char>) -> char {
        crate::layout::delimiter(separator, self.self_delimiting)
    }
}

impl RecordedLayout {
    /// Checks whether the table is the layout's, or one of its slices.
    pub fn has_table(&self, table: &str) -> bool {
        let Some(Slice { unit }) = &self.slice else { return self.table.eq_ignore_ascii_case(table) };
        let digits = match unit.as_str() {
            "year" => 4,
            "month" => 6,
            _ => 8,
        };
        let (begin, end) = (table.get(..self.table.len()), table.get(self.table.len()..));
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(&self.table))
            && end.is_some_and(|end| end.len() == digits && end.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Checks whether there is a table for each year, month or day.
    pub fn is_sliced(&self) -> bool {
        self.slice.is_some()
    }
}

/// Reads a record; `None` if its layout is damaged.
fn layout(record: &Record) -> Option<RecordedLayout> {
    let json = record.layout();
    let index = json["index"].clone();
    let mut layout = json;
    if let Some(members) = layout.as_object_mut() {
        members.remove("index");
    }
    let mut layout: RecordedLayout = serde_json::from_value(layout).ok()?;
    layout.state = record.state.into();
    let key = |prefix: &mut String, parts: &mut Vec<RecordedPart>| RecordedKey {
        prefix: std::mem::take(prefix),
        parts: std::mem::take(parts),
    };
    layout.partition = key(&mut layout.partition_prefix, &mut layout.partition_parts);
    layout.row = key(&mut layout.row_prefix, &mut layout.row_parts);
    if !index.is_null() {
        let names = |list: &str| index[list].as_array().cloned().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        layout.index = Some(RecordedIndex {
            scope: if index["scope"] == "SamePartition" { Scope::SamePartition } else { Scope::CrossPartition },
            unique: index["unique"] == true,
            when: text(&index["when"]["path"]),
            holds: match index["holds"].as_str()? {
                "Pointer" => Holds::Pointer,
                "Include" => Holds::Include,
                "Copy" => Holds::Copy,
                "List" => Holds::List,
                _ => return None,
            },
            pointer: names("pointer")
                .iter()
                .filter_map(|property| Some((text(&property["field"])?, text(&property["name"])?)))
                .collect(),
            included: names("included").iter().filter_map(|property| text(&property["name"])).collect(),
        });
    }
    Some(layout)
}

/// Returns the entities of these records.
pub(super) fn entities(records: Vec<Record>) -> Vec<RecordedEntity> {
    let mut by_entity = RecordsByEntity::new();
    for record in records {
        by_entity.entry((record.entity_table.clone(), record.entity.clone())).or_default().push(record);
    }
    let entity = |((_, name), records): ((String, String), Vec<Record>)| {
        let facts = records.iter().find(|record| record.is_primary()).map(Record::facts).unwrap_or_default();
        let mut layouts: Vec<_> = records.iter().filter_map(layout).collect();
        layouts.sort_by_key(|layout| (layout.index.is_some(), layout.name.clone()));
        let kind = layouts.first().and_then(|primary| primary.kind.clone());
        let Facts { names, properties, moved, .. } = facts;
        let names = distinct(names.into_iter().chain([name.clone()]));
        let moved = moved.map(|place| place.to_string());
        RecordedEntity { name, names, kind, layouts, properties, moved }
    };
    by_entity.into_iter().map(entity).collect()
}
