//! Copies of entities in an index.

use std::{fmt, ops::Deref};

use table_model::{
    TableEntity,
    unstable::entity::{self, StoredRow},
};
use table_store::{Result, RowRef, unstable::RowKeys};

use super::{OwnedView, Point, Primary, View};
use crate::{
    client::{stored::Stored, tables::Tables},
    read::{FoundRow, Plan},
};

/// A copy of an entity, as an index holds it. Queries over `#[index(…, copy)]` return copies, with one request for a
/// page of them.
///
/// A `Copied` derefs to the entity. A copy is another row than the entity and has a version of its own, so it cannot be
/// updated: [`fetch`](Self::fetch) reads the entity itself. In the entity's own partition, the entity's transaction
/// writes the copy, so the copy is never out of date. In another partition, the copy is written after the entity, and
/// may lag behind it. A copy holds the properties that the struct of its last writer knows: one that an older program
/// wrote lacks what that program did not know, until the entity is updated or repaired.
#[derive(Clone)]
pub struct Copied<T> {
    entity: T,
    key: Plan,
}

impl<T: TableEntity> Copied<T> {
    pub(crate) fn new(entity: T, RowKeys { partition_key, row_key }: &RowKeys) -> Self {
        Self { entity, key: Plan::of_keys::<T>(partition_key, row_key) }
    }

    /// Reads the entity from its own table, with one request; `None` if it is gone.
    ///
    /// # Errors
    /// Fails with the errors of [`Point::get`].
    pub async fn fetch(&self, tables: &Tables) -> Result<Option<Stored<T>>> {
        self.key().get(tables).await
    }

    /// Returns the entity's own key.
    pub fn key(&self) -> Point<T, Primary> {
        Point::new(self.key.clone())
    }

    /// Returns the entity without its key.
    pub fn into_inner(this: Self) -> T {
        this.entity
    }
}

/// Returns the entity in an index row that holds a copy of it; `None` if the copy has a version that readers skip.
pub(super) fn read_copy<E: TableEntity>(layout: usize, row: RowRef<'_>) -> Result<Option<Copied<E>>> {
    if E::INFO.skip_newer && entity::newer_version(&E::INFO.layouts[layout].table, row, E::INFO.version)?.is_some() {
        return Ok(None);
    }
    let keys = E::INFO.owner(layout, row)?;
    let own = RowRef { partition_key: &keys.partition_key, row_key: &keys.row_key, ..row };
    let entity: E = StoredRow::of_copy(E::INFO, &own).read()?.entity;
    entity::check_keys(&entity, layout, &E::INFO.layouts[layout].table, &row, true)?;
    Ok(Some(Copied::new(entity, &keys)))
}

impl<T> Deref for Copied<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.entity
    }
}

impl<T: PartialEq> PartialEq for Copied<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entity == other.entity
    }
}

impl<T: PartialEq> PartialEq<T> for Copied<T> {
    fn eq(&self, other: &T) -> bool {
        self.entity == *other
    }
}

/// Serializes the entity alone.
impl<T: serde::Serialize> serde::Serialize for Copied<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entity.serialize(serializer)
    }
}

impl<T: fmt::Debug> fmt::Debug for Copied<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Copied").field(&self.entity).finish()
    }
}

impl<E: TableEntity> View for Copied<E> {
    type Entity = E;
    type Row<'r> = Self;
    type Item = Self;

    fn read<F: FnOnce(Self)>(found: &FoundRow<'_>, give: F) -> Result<bool> {
        let Some(copied) = read_copy::<E>(found.layout, *found.row)? else { return Ok(false) };
        let is_match = found.is_first_of(&copied.entity)?;
        if is_match {
            give(copied);
        }
        Ok(is_match)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> OwnedView for Copied<E> {
    fn own(row: Self) -> Self {
        row
    }
}
