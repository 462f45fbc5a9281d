//! A row that a query found, and the index row that pointed to it.

use crate::{Result, RowRef, Stored, TableEntity, entity};

/// A row that a query found.
#[derive(Clone, Copy, Debug)]
pub struct FoundRow<'a> {
    /// The layout that it is a row of: the entity's own, or that of an index which holds copies.
    pub(crate) layout: usize,
    pub(crate) table: &'a str,
    pub(crate) row: RowRef<'a>,
    /// The row of an index that led to it.
    pub(crate) pointer: Option<IndexRowRef<'a>>,
}

/// A row of an index that led to an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexRowRef<'a> {
    pub(crate) layout: usize,
    pub(crate) partition_key: &'a str,
    pub(crate) row_key: &'a str,
    /// Whether it leads to others too.
    pub(crate) is_list: bool,
}

impl<'a> FoundRow<'a> {
    /// The keys of the row of the query's own layout.
    pub(crate) fn position(self) -> (&'a str, &'a str) {
        self.pointer.map_or((self.row.partition_key, self.row.row_key), |way| (way.partition_key, way.row_key))
    }

    /// The entity's row key, where that row leads to others too.
    pub(crate) fn listed(self) -> Option<&'a str> {
        self.pointer.filter(|way| way.is_list).map(|_| self.row.row_key)
    }

    /// The entity; `None` if it does not, or no longer, have the value by which it was found.
    pub(crate) fn entity<E: TableEntity>(self) -> Result<Option<Stored<E>>> {
        let stored = entity::read::<E>(self.table, self.row)?;
        if const { E::LAYOUTS.len() > 1 } {
            return Ok(self.pointer.is_none_or(|pointer| pointer.points_to(&*stored)).then_some(stored));
        }
        Ok(Some(stored))
    }
}

impl IndexRowRef<'_> {
    /// Whether the entity's row in the index is this one.
    fn points_to<E: TableEntity>(self, entity: &E) -> bool {
        // A value that no key of the index holds is not this one's either.
        let keys = entity::keys_in(entity, self.layout).ok().flatten();
        keys.is_some_and(|(partition, row)| partition == self.partition_key && row == self.row_key)
    }
}
