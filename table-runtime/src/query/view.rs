//! What a query gives out of the rows that it finds.

use super::copied::{Copied, read_copy};
use crate::{Result, RowRef, Stored, TableEntity, entity};

/// What a query gives out: an entity, as [`Stored`], or what is made of its row, such as [`Copied`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "add `#[derive(TableEntity)]` to the struct"
)]
pub trait View: Sized + 'static {
    /// The entity whose rows are read; a group of entities itself.
    type Entity;
    /// What is given out of each.
    type Item: Send + 'static;

    /// Reads a row; `None` if it is no match: its entity does not have the value by which it was found.
    #[doc(hidden)]
    fn read(found: Found<'_>) -> Result<Option<Self::Item>>;
}

/// A row that a query found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The layout that it is a row of: the entity's own, or that of an index which holds copies.
    pub(super) layout: usize,
    pub(super) table: &'a str,
    pub(super) row: RowRef<'a>,
    /// The row of an index that led to it.
    pub(super) through: Option<Through<'a>>,
}

/// A row of an index that led to an entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Through<'a> {
    pub(super) layout: usize,
    pub(super) partition_key: &'a str,
    pub(super) row_key: &'a str,
    /// Whether it leads to others too.
    pub(super) is_list: bool,
}

impl<'a> Found<'a> {
    /// The keys of the row of the query's own layout.
    pub(super) fn position(self) -> (&'a str, &'a str) {
        self.through.map_or((self.row.partition_key, self.row.row_key), |way| (way.partition_key, way.row_key))
    }

    /// The entity's row key, where that row leads to others too.
    pub(super) fn listed(self) -> Option<&'a str> {
        self.through.filter(|way| way.is_list).map(|_| self.row.row_key)
    }

    /// The entity; `None` if it does not, or no longer, have the value by which it was found.
    pub(crate) fn entity<E: TableEntity>(self) -> Result<Option<Stored<E>>> {
        let stored = entity::read::<E>(self.table, self.row)?;
        if const { E::LAYOUTS.len() > 1 } {
            return Ok(self.through.is_none_or(|through| through.leads_to(&*stored)).then_some(stored));
        }
        Ok(Some(stored))
    }

    /// Whether it is a match: of a row that no index led to, its keys have told so.
    pub(super) fn is_match<V: View>(self) -> Result<bool> {
        match self.through {
            Some(_) => V::read(self).map(|item| item.is_some()),
            None => Ok(true),
        }
    }
}

impl Through<'_> {
    /// Whether the entity's row in the index is this one.
    fn leads_to<E: TableEntity>(self, entity: &E) -> bool {
        // A value that no key of the index holds is not this one's either.
        let keys = entity::keys_in(entity, self.layout).ok().flatten();
        keys.is_some_and(|(partition, row)| partition == self.partition_key && row == self.row_key)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> View for E {
    type Entity = E;
    type Item = Stored<E>;

    fn read(found: Found<'_>) -> Result<Option<Stored<E>>> {
        found.entity()
    }
}

impl<E: TableEntity> View for Copied<E> {
    type Entity = E;
    type Item = Self;

    fn read(found: Found<'_>) -> Result<Option<Self>> {
        read_copy(found.layout, found.row).map(Some)
    }
}
