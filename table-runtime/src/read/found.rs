//! Row that a query found, and the index row that pointed to it.

use table_model::{
    TableEntity,
    unstable::{
        entity::{self, WriteEntity},
        layout::LayoutExt,
    },
};
use table_store::{
    Error, Result, RowRef,
    unstable::{RowKeys, observe},
};

use super::{cursor::Position, once::Once};
use crate::client::stored::{self, Stored};

/// Callback for a found row. It returns whether the row was a match and so is part of the result.
pub type OnRow<'a> = &'a mut (dyn FnMut(&FoundRow<'_>) -> Result<bool> + Send);

/// Callback for the error of a row that cannot be read, and that a query skips.
pub type OnUnreadable<'a> = Box<dyn FnMut(Error) + Send + 'a>;

/// Receiver of the rows that a query finds.
pub trait Visit: Send {
    /// Reads a row. Returns whether it was a match and so is part of the result.
    fn found(&mut self, row: &FoundRow<'_>) -> Result<bool>;

    /// Takes the error of a row that cannot be read, in the order of the rows. The query goes on, unless this returns an
    /// error.
    fn unreadable(&mut self, error: Error, position: Position) -> Result<()>;

    /// Checks whether the query ends here, though there may be more rows.
    fn is_done(&self) -> bool {
        false
    }
}

/// A closure for the rows that can be read, and one for the errors of the others, if the query skips them.
pub struct Skipping<'s, 'a, F> {
    pub read: F,
    pub skip: &'s mut Option<OnUnreadable<'a>>,
}

impl<F: FnMut(&FoundRow<'_>) -> Result<bool> + Send> Visit for Skipping<'_, '_, F> {
    fn found(&mut self, row: &FoundRow<'_>) -> Result<bool> {
        (self.read)(row)
    }

    fn unreadable(&mut self, error: Error, _: Position) -> Result<()> {
        skip_or_fail(self.skip, error)
    }
}

/// Passes the error of a row to the callback, if there is one.
pub fn skip_or_fail(skip: &mut Option<OnUnreadable<'_>>, error: Error) -> Result<()> {
    let Some(skip) = skip else { return Err(error) };
    observe::unreadable();
    skip(error);
    Ok(())
}

/// Row that a query found.
#[derive(Clone, Copy, Debug)]
pub struct FoundRow<'a> {
    /// Number of the row's layout: the entity's own, or that of an index which holds copies.
    pub(crate) layout: usize,
    pub(crate) table: &'a str,
    pub(crate) row: &'a RowRef<'a>,
    /// Index row that pointed to the row.
    pub(crate) pointer: Option<IndexRowRef<'a>>,
    /// The rule that returns the entity once, if the query can read several of its rows.
    pub(crate) once: Option<&'a Once>,
}

/// Index row that pointed to an entity.
#[derive(Clone, Copy, Debug)]
pub struct IndexRowRef<'a> {
    pub layout: usize,
    pub partition_key: &'a str,
    pub row_key: &'a str,
    /// True if the index row can point to several entities.
    pub is_list: bool,
}

impl<'a> FoundRow<'a> {
    /// Writes the position of the row in the query's own layout to `position`: that of the index row, if there is one.
    /// Only the position in a sliced table has a slice.
    pub(super) fn position(&self, is_sliced: bool, position: &mut Position) {
        let own = (self.row.partition_key, self.row.row_key);
        let (partition_key, row_key) = self.pointer.map_or(own, |pointer| (pointer.partition_key, pointer.row_key));
        partition_key.clone_into(&mut position.partition_key);
        row_key.clone_into(&mut position.row_key);
        let list = self.pointer.filter(|pointer| pointer.is_list);
        position.listed = list.map(|_| self.row.row_key.to_owned());
        position.slice = is_sliced.then(|| self.table.to_owned());
    }

    /// Calls `give` with the entity. Returns false without a call if its insert is not committed, or if it does not have
    /// the value by which it was found, or no longer has it.
    #[inline]
    pub(crate) fn entity<E: TableEntity>(&self, give: impl FnOnce(Stored<E>)) -> Result<bool> {
        let give_match = |stored: Stored<E>| {
            if const { E::INFO.layout.layouts.len() > 1 }
                && let Some(pointer) = self.pointer
                && !pointer.points_to(&*stored, self.once)
            {
                return false;
            }
            give(stored);
            true
        };
        Ok(stored::read_committed(self.table, self.row, give_match)?.unwrap_or(false))
    }

    /// Checks whether the row, which holds the entity, is the one by which the query returns it.
    pub(crate) fn is_first_of(&self, entity: &dyn WriteEntity) -> Result<bool> {
        let Some(once) = self.once else { return Ok(true) };
        Ok(once.is_first((self.row.partition_key, self.row.row_key), entity::keys_in(entity, self.layout)?))
    }

    /// Checks whether the row of an index is the one by which the query returns its entity, from the elements in the row.
    ///
    /// # Errors
    /// Another program wrote the row under the key of an element that it does not have.
    pub(crate) fn is_first_of_elements<E: TableEntity>(&self) -> Result<bool> {
        if !E::INFO.layouts[self.layout].holds_elements() {
            return Ok(true);
        }
        let rows = entity::element_keys::<E>(self.layout, self.row)?;
        let own = (self.row.partition_key, self.row.row_key);
        Ok(self.once.is_none_or(|once| once.is_first(own, rows.into_iter())))
    }

    /// Checks whether the row's insert is committed. Only an entity's own row can be pending.
    pub(crate) fn is_committed(&self) -> Result<bool> {
        Ok(self.layout > 0 || !entity::is_pending(self.table, *self.row)?)
    }
}

impl IndexRowRef<'_> {
    /// Checks whether this is one of the entity's rows in the index, and the one by which the query returns it.
    fn points_to(self, entity: &dyn WriteEntity, once: Option<&Once>) -> bool {
        // An entity whose value no key can hold has no row in the index.
        let Ok(mut rows) = entity::keys_in(entity, self.layout) else { return false };
        let own = (self.partition_key, self.row_key);
        match once {
            Some(once) => once.is_first(own, rows),
            None => rows.any(|keys: RowKeys| keys.is(own)),
        }
    }
}
