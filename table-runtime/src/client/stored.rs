//! Entities as they are stored, with the versions of their rows.

mod with_etag;

use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::SystemTime,
};

use table_model::{
    TableEntity,
    unstable::entity::{self, LoadedRows, ReadEntity, StoredRow, Unknown, WriteEntity},
};
use table_store::{ETag, Error, Result, RowRef, Ticks, ValueRef, error::KeyError, unstable::RowKeys};

pub use with_etag::WithETag;

use super::sealed::Sealed;

/// An entity as it was loaded, with the parts that an update needs.
#[derive(Clone, Debug, Default)]
pub struct LoadedEntity {
    /// Empty if the entity has no indexes.
    pub rows: LoadedRows,
    /// The time from which on the entity is absent.
    pub until: Option<Ticks>,
    /// Properties that the update writes back.
    pub unknown: Unknown,
}

/// An entity as the table holds it, together with its version. It derefs to the entity.
///
/// Change it through `DerefMut`, then write it back with [`update`](crate::Tables::update), which succeeds if the row
/// has not changed meanwhile. Reading through it costs nothing. The first mutable access saves the keys that the entity
/// was loaded with, and the properties that its indexes include.
///
/// If the row has properties that the struct does not know, for instance those that a newer version of the program
/// added, `Stored` carries them, and an update writes them back.
///
/// All functions of `Stored` are associated functions, such as `Stored::etag(&stored)`, so that they never hide the
/// entity's own.
#[derive(Clone)]
pub struct Stored<T> {
    /// Not a field of its own for the entity: where an entity is expected, the compiler would propose to name it.
    parts: (T, StoredState),
}

impl<E> Sealed for Stored<E> {}

impl<E: TableEntity> Sealed<E> for Stored<E> {}

/// The version of the row of a [`Stored`] entity, and the parts of the row that an update needs.
#[derive(Clone)]
pub struct StoredState {
    etag: ETag,
    timestamp: Ticks,
    /// Rows of the entity before the first mutable access.
    loaded: Option<Box<Result<LoadedRows, Box<KeyError>>>>,
    unknown: Unknown,
    until: Until,
    /// `true` if it was created by [`new`](Self::new): the table may hold a different entity in this version.
    made: bool,
}

/// The time from which on a stored entity is absent.
#[derive(Clone, Copy)]
enum Until {
    /// That of the row. A row of an older version may have another one than the entity that was converted from it.
    Row(Option<Ticks>),
    /// That of the entity, which was written as it is.
    Entity,
}

impl Until {
    fn of_row<E: TableEntity>(row: &RowRef<'_>) -> Self {
        Self::Row(E::INFO.lifecycle.expires.and_then(|name| time_of(row.properties.get(name))))
    }

    /// Returns the time of an entity that may change from now on.
    fn time(self, entity: &dyn WriteEntity) -> Option<Ticks> {
        match (self, entity.info().lifecycle.expires) {
            (Self::Row(time), _) => time,
            (Self::Entity, None) => None,
            // A value that no property can hold is unknown here; writing it reports the error.
            (Self::Entity, Some(name)) => {
                time_of(entity::properties(entity, &entity::keys(entity).ok()?).ok()?.get(name))
            }
        }
    }
}

fn time_of(value: Option<ValueRef<'_>>) -> Option<Ticks> {
    if let Some(ValueRef::DateTime(time)) = value { Some(time) } else { None }
}

impl<T> Stored<T> {
    /// Creates the stored form of an entity, given the version of the row that holds it: after an insert, or from an
    /// earlier read.
    ///
    /// The row itself is unknown: it may have properties that the struct does not know, and its index rows are those of
    /// the stored version, which the entity may no longer equal. The first [`update`](crate::Tables::update) therefore
    /// reads the row, which takes one more request. After it the row is known, and the next update needs no extra
    /// request. A [`delete`](crate::Tables::delete) reads the row only if the entity has indexes.
    ///
    /// ```
    /// # use table_runtime::{Result, Stored, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, likes: u32 }
    /// # async fn example(tables: Tables, post: Post) -> Result<()> {
    /// let etag = tables.insert(&post).await?;
    /// let mut stored = Stored::new(post, etag);
    /// stored.likes += 1;
    /// tables.update(&mut stored).await?;
    /// # Ok(()) }
    /// ```
    pub fn new(entity: T, etag: ETag) -> Self {
        Self { parts: (entity, StoredState::of_new(etag)) }
    }

    /// Returns the version of the row.
    pub const fn etag(this: &Self) -> &ETag {
        &this.parts.1.etag
    }

    /// Returns the time at which the store wrote the row, by the store's clock; 1970 if the value was created with an
    /// ETag that holds no time.
    pub fn timestamp(this: &Self) -> SystemTime {
        this.parts.1.timestamp.to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns the entity alone, as `From` does, which each entity implements: `Post::from(stored)`, `stored.into()`.
    ///
    /// ```
    /// use table_runtime::{Result, TableEntity, Tables};
    ///
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] id: u32, title: String }
    /// async fn posts(tables: &Tables) -> Result<Vec<Post>> {
    ///     let posts = Post::by_key("Marcus").all(tables).await?;
    ///     Ok(posts.into_iter().map(Post::from).collect())
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # tables.insert(&Post { author: "Marcus".into(), id: 1, title: "Keys".into() }).await?;
    /// # assert_eq!(posts(&tables).await?[0].title, "Keys");
    /// # Ok::<(), table_runtime::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(this: Self) -> T {
        this.parts.0
    }

    /// Returns the properties that the struct does not know.
    pub(crate) fn unknown(&self) -> &Unknown {
        &self.parts.1.unknown
    }
}

impl<T: TableEntity> Stored<T> {
    /// Returns the entity and its state, without the entity's type.
    pub(crate) fn parts(&self) -> (&dyn WriteEntity, &StoredState) {
        (&self.parts.0, &self.parts.1)
    }

    /// Returns the entity and its state, without the entity's type.
    pub(crate) fn parts_mut(&mut self) -> (&dyn WriteEntity, &mut StoredState) {
        (&self.parts.0, &mut self.parts.1)
    }
}

impl StoredState {
    /// Returns the state of an entity that was just read.
    fn read<E: TableEntity>(row: &RowRef<'_>, unknown: Unknown) -> Self {
        let until = Until::of_row::<E>(row);
        Self { etag: row.etag.clone(), timestamp: row.timestamp, loaded: None, unknown, until, made: false }
    }

    /// Returns the version of the row.
    pub fn etag(&self) -> &ETag {
        &self.etag
    }

    /// Returns the time at which the store wrote the row.
    pub const fn timestamp(&self) -> Ticks {
        self.timestamp
    }

    /// Records a new version of the stored row; the changes are still to be written.
    pub fn set_etag(&mut self, etag: &ETag) {
        self.etag = etag.clone();
    }

    /// Records that the entity was written in its present state, with these properties that the struct does not know.
    pub fn written(&mut self, etag: ETag, unknown: Unknown) {
        if let Some(timestamp) = etag.timestamp() {
            self.timestamp = timestamp;
        }
        self.etag = etag;
        self.loaded = None;
        self.unknown = unknown;
        self.until = Until::Entity;
        self.made = false;
    }

    /// Returns the state of an entity that was just written with this version.
    pub fn of_new(etag: ETag) -> Self {
        let timestamp = etag.timestamp().unwrap_or(Ticks::UNIX_EPOCH);
        Self { etag, timestamp, loaded: None, unknown: None, until: Until::Entity, made: true }
    }

    /// Saves the rows of an entity that is about to change.
    pub fn save(&mut self, entity: &dyn WriteEntity) {
        if self.loaded.is_none() {
            self.until = Until::Row(self.until.time(entity));
            self.loaded = Some(Box::new(entity::loaded_rows(entity)));
        }
    }

    /// Returns the primary key that the entity was loaded with.
    pub fn loaded_key(&self, entity: &dyn WriteEntity) -> Result<RowKeys, Box<KeyError>> {
        match self.loaded.as_deref() {
            Some(Ok(rows)) => Ok(rows.first().map(|row| row.keys.clone()).unwrap_or_default()),
            Some(Err(error)) => Err(error.clone()),
            None => entity::keys(entity),
        }
    }

    /// Returns the entity as it was loaded, for an update; `None` if only the table knows it.
    pub fn loaded(&self, entity: &dyn WriteEntity) -> Result<Option<LoadedEntity>, Box<KeyError>> {
        if self.made {
            return Ok(None);
        }
        let rows = match self.loaded.as_deref() {
            _ if entity.info().layouts.len() == 1 => Vec::new(),
            Some(loaded) => loaded.clone()?,
            None => entity::loaded_rows(entity)?,
        };
        Ok(Some(LoadedEntity { rows, unknown: self.unknown.clone(), until: self.until.time(entity) }))
    }

    /// Returns the entity as it was loaded, for a deletion, which needs its index rows and its time alone; `None` if only
    /// the table knows them.
    pub fn loaded_for_deletion(&self, entity: &dyn WriteEntity) -> Result<Option<LoadedEntity>, Box<KeyError>> {
        let info = entity.info();
        let needs_row = info.layouts.len() > 1 || info.lifecycle.expires.is_some();
        if needs_row { self.loaded(entity) } else { Ok(Some(LoadedEntity::default())) }
    }
}

impl LoadedEntity {
    /// Checks whether the entity was absent for readers at a moment, by the time with which it was loaded.
    pub fn has_expired(&self, now: Ticks) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl<T> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.parts.0
    }
}

impl<T: TableEntity> DerefMut for Stored<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.parts.1.save(&self.parts.0);
        &mut self.parts.0
    }
}

/// Equal if the entities and their versions are equal.
impl<T: PartialEq> PartialEq for Stored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.parts.0 == other.parts.0 && self.parts.1.etag == other.parts.1.etag
    }
}

impl<T: PartialEq> PartialEq<T> for Stored<T> {
    fn eq(&self, other: &T) -> bool {
        self.parts.0 == *other
    }
}

/// Serializes the entity alone.
impl<T: serde::Serialize> serde::Serialize for Stored<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.0.serialize(serializer)
    }
}

impl<T: fmt::Debug> fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("entity", &self.parts.0)
            .field("etag", &self.parts.1.etag)
            .finish_non_exhaustive()
    }
}

/// Reads an entity from its row in `table`. Returns an error if any part of the row is damaged.
pub fn read<E: TableEntity>(table: &str, row: RowRef<'_>) -> Result<Stored<E>> {
    let ReadEntity { entity, unknown, .. } = StoredRow::new(table, &row).read()?;
    Ok(Stored { parts: (entity, StoredState::read::<E>(&row, unknown)) })
}

/// Reads an entity from its row in `table`, and returns the result of `give` for it; `None` if its insert is not
/// committed.
///
/// A row that has only properties of the struct is not pending, so most rows are searched for no further property.
#[inline]
pub fn read_committed<E: TableEntity, T>(
    table: &str,
    row: &RowRef<'_>,
    give: impl FnOnce(Stored<E>) -> T,
) -> Result<Option<T>> {
    let (mut give, mut given) = (Some(give), None);
    let mut give_committed = |entity, unknown, is_pending: bool| {
        if let Some(give) = give.take_if(|_| !is_pending) {
            given = Some(give(Stored { parts: (entity, StoredState::read::<E>(row, unknown)) }));
        }
    };
    match StoredRow::new(table, row).read_with(&mut give_committed) {
        Ok(()) => Ok(given),
        Err(error) => match unless_pending(table, row, error) {
            None => Ok(None),
            Some(error) => Err(error),
        },
    }
}

/// Returns the error of a row; `None` if readers skip the row.
#[cold]
fn unless_pending(table: &str, row: &RowRef<'_>, error: Error) -> Option<Error> {
    match entity::is_pending(table, *row) {
        Ok(true) => None,
        Ok(false) => Some(error),
        Err(damaged) => Some(damaged),
    }
}
