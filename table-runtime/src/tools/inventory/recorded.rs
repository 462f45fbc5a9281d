//! What the catalog records about entities, as values.

use std::collections::BTreeMap;

use super::distinct;
use crate::{
    client::tables::{Facts, ReadRecord, State},
    model::layout::{LayoutState, RecordedLayout},
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
        let Facts { names, properties, moved, .. } = facts.unwrap_or_default();
        // Other records are left out.
        let readable = records.iter().filter(|record| record.layout.is_readable);
        let layout = |record: &&ReadRecord| RecordedLayout { state: record.state.into(), ..record.layout.clone() };
        let mut layouts: Vec<_> = readable.map(layout).collect();
        layouts.sort_by_key(|layout| (layout.index.is_some(), layout.name.clone()));
        let kind = layouts.first().and_then(|primary| primary.kind.clone());
        let names = distinct(names.into_iter().chain([name.clone()]));
        let moved = moved.map(|place| place.to_string());
        RecordedEntity { name: name.clone(), names, kind, layouts, properties, moved }
    };
    by_entity.into_iter().map(entity).collect()
}
