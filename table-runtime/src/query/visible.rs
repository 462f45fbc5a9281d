//! Which rows of a table are entities that readers see.

use crate::{LayoutInfo, Result, RowRef, entity};

/// What a row has to be, for its entity to be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visible {
    pub(super) table: &'static str,
    /// Of this kind, where several share the table.
    pub(super) kind: Option<&'static str>,
    /// Committed: asked only where an insert writes rows of indexes in other partitions first.
    pub(super) committed: bool,
}

impl Visible {
    pub(super) const fn new(layouts: &[LayoutInfo], kind: Option<&'static str>) -> Self {
        let (mut committed, mut at) = (false, 0);
        while at < layouts.len() {
            committed |= layouts[at].is_claimed();
            at += 1;
        }
        Self { table: layouts[0].table, kind, committed }
    }

    /// Whether readers see the row.
    pub(super) fn sees(self, row: RowRef<'_>) -> Result<bool> {
        Ok(self.is_of_kind(row)? && self.is_committed(row)?)
    }

    fn is_of_kind(self, row: RowRef<'_>) -> Result<bool> {
        self.kind.map_or(Ok(true), |kind| entity::is_kind(self.table, row, kind))
    }

    /// Whether the row is no pending one.
    pub(super) fn is_committed(self, row: RowRef<'_>) -> Result<bool> {
        Ok(!self.committed || !entity::is_pending(self.table, row)?)
    }

    /// The properties by which a row [is seen](Self::sees).
    pub(super) const fn properties(self) -> &'static [&'static str] {
        match (self.kind, self.committed) {
            (None, false) => &[],
            (Some(_), false) => &[entity::KIND],
            (None, true) => &[entity::PENDING],
            (Some(_), true) => &[entity::KIND, entity::PENDING],
        }
    }

    /// The properties by which a row [is committed](Self::is_committed).
    pub(super) const fn mark(self) -> &'static [&'static str] {
        if self.committed { &[entity::PENDING] } else { &[] }
    }
}
