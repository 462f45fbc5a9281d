//! What the catalog records about entities, as values.

use std::collections::BTreeMap;

use table_store::{RowRef, ValueRef};

use super::distinct;
use crate::{
    client::tables::{Facts, ReadRecord, State},
    model::{
        entity::VERSION,
        layout::{LayoutState, Lifecycle, RecordedLayout},
    },
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
    /// The property with the time from which on the entity is absent.
    pub expires: Option<String>,
    /// The property with the time at which the entity was put into the bin.
    pub soft_delete: Option<String>,
    /// Values as which rows without a property are read, by the index that depends on it and the name of the property.
    pub(super) defaults: BTreeMap<String, BTreeMap<String, String>>,
    /// The place to which a migration has moved the entity.
    pub moved: Option<String>,
}

impl RecordedEntity {
    /// Returns the primary key.
    pub(super) fn primary(&self) -> Option<&RecordedLayout> {
        self.layouts.first().filter(|layout| layout.index.is_none())
    }

    /// Checks whether the rows that an entity has in an index follow from its properties as they are stored. A row of an older
    /// version is converted first, and a missing property may have a default.
    pub(super) fn knows_rows_of(&self, index: &RecordedLayout, row: RowRef<'_>) -> bool {
        let newest = self.properties.keys().next_back().copied().unwrap_or(1);
        let version = match row.properties.get(VERSION) {
            None => Some(1),
            Some(ValueRef::Int32(version)) => u32::try_from(version).ok(),
            Some(_) => None,
        };
        let defaults = self.defaults.get(&index.name);
        let has_default = |property: &String| {
            // An empty text is the default of an `Option`.
            let default = defaults.and_then(|defaults| defaults.get(property));
            default.is_some_and(|default| !default.is_empty()) && row.properties.get(property).is_none()
        };
        let mut properties =
            index.partition.parts.iter().chain(&index.row.parts).filter_map(|part| part.property.as_ref());
        version == Some(newest) && !properties.any(has_default)
    }

    /// Returns the properties with the times that hide an entity.
    pub(super) fn lifecycle(&self) -> Lifecycle<'_> {
        Lifecycle { expires: self.expires.as_deref(), soft_delete: self.soft_delete.as_deref() }
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

/// Returns the entities of these records.
pub(super) fn entities(records: &[ReadRecord]) -> Vec<RecordedEntity> {
    let mut by_entity: BTreeMap<_, Vec<&ReadRecord>> = BTreeMap::new();
    for record in records {
        by_entity.entry((&record.entity_table, &record.entity)).or_default().push(record);
    }
    let entity = |((_, name), records): ((&String, &String), Vec<&ReadRecord>)| {
        let facts = records.iter().find(|record| record.is_primary()).map(|record| record.facts.clone());
        let Facts { names, properties, expires, soft_delete, defaults, moved, .. } = facts.unwrap_or_default();
        // Other records are left out.
        let readable = records.iter().filter(|record| record.layout.is_readable);
        let layout = |record: &&ReadRecord| RecordedLayout { state: record.state.into(), ..record.layout.clone() };
        let mut layouts: Vec<_> = readable.map(layout).collect();
        layouts.sort_by_key(|layout| (layout.index.is_some(), layout.name.clone()));
        let kind = layouts.first().and_then(|primary| primary.kind.clone());
        let names = distinct(names.into_iter().chain([name.clone()]));
        let moved = moved.map(|place| place.to_string());
        RecordedEntity { name: name.clone(), names, kind, layouts, properties, expires, soft_delete, defaults, moved }
    };
    by_entity.into_iter().map(entity).collect()
}
