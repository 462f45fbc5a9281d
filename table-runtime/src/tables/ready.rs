//! Indexes that a handle knows to be ready.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use crate::{Layout, LayoutInfo, Property};

/// State of a layout: ready if every entity has its row in it.
#[derive(Property, Clone, Copy, Debug, PartialEq, Eq)]
#[table(crate = crate)]
pub(crate) enum State {
    Building,
    Ready,
}

/// Identity of a layout, by which its record is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LayoutId {
    pub(crate) table: &'static str,
    pub(crate) entity_table: &'static str,
    pub(crate) entity: &'static str,
    pub(crate) name: &'static str,
}

impl LayoutId {
    /// Returns the identity of a layout of the entity.
    pub(crate) fn of(entity: &Layout, layout: &'static LayoutInfo) -> Self {
        let entity_table = entity.layouts.first().map_or(layout.table, |primary| primary.table);
        Self { table: layout.table, entity_table, entity: entity.entity, name: layout.name }
    }
}

/// Set of the indexes that are known to be ready. An index that is ready stays ready.
#[derive(Debug, Default)]
pub(crate) struct ReadyIndexes(Mutex<HashSet<LayoutId>>);

impl ReadyIndexes {
    pub(crate) fn has(&self, id: LayoutId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }

    /// Remembers the state of an index.
    pub(crate) fn remember(&self, id: LayoutId, state: State) {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            State::Ready => ready.insert(id),
            State::Building => ready.remove(&id),
        };
    }
}
