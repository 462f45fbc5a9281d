//! Verification by the recorded layouts.

use std::sync::Arc;

use super::{Inventory, LayoutState, RecordedEntity, rows::RecordedRows};
use crate::{
    admin::jobs::{Job, Verify, hash_described},
    client::tables::Tables,
};

impl Inventory {
    /// Compares recorded entities with the rows of their indexes, without their types: this one, or all of them. It is the
    /// job of [`Tables::verify`], with the same options and findings. Reads a
    /// [snapshot](crate::backend::StoreView::Snapshot) if the store has them.
    ///
    /// It computes the keys that an entity should have in each index from the recorded parts and the stored properties.
    /// It cannot evaluate the predicate of an index with `when`: such an index is searched for rows that are wrong, and
    /// not for those that are missing. Indexes that are not recorded as ready are left out: programs may not have written or
    /// deleted all of their rows yet. [`Verified::partly`](crate::jobs::Verified::partly) names both.
    ///
    /// A row whose keys fit no recorded layout, or whose `EntityType` no entity of these keys, is a
    /// [foreign](crate::jobs::Finding::Foreign) one.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn verify<'a>(&self, tables: &Tables, entity: Option<&RecordedEntity>) -> Job<'a, Verify> {
        // The rows of an entity that was moved are those of its new place.
        let is_chosen = |own: &RecordedEntity| entity.map_or(own.moved.is_none(), |entity| entity == own);
        let chosen: Vec<_> = self.entities.iter().filter(|entity| is_chosen(entity)).collect();
        let job = hash_described("verify", &format!("{chosen:?}"));
        let snapshot = tables.backend().snapshot();
        let of = snapshot.map(|snapshot| {
            let client = snapshot.unwrap_or_else(|| Arc::clone(tables.backend()));
            Arc::new(RecordedRows::new(self, tables, client, is_chosen, &[LayoutState::Ready])) as _
        });
        Job::new(Verify::new(of, job))
    }
}
