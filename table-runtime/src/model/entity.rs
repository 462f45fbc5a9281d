//! Entities: the trait that the derive implements for a struct, and its stored form.

mod carried;
mod erased;
mod version;
mod with_etag;

use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::SystemTime,
};

use table_store::{
    ETag, Error, Guid, Properties, Result, RowRef, Ticks, ValueRef,
    error::{KeyError, KeyProblem},
    unstable::RowKeys,
};

use crate::model::{
    codec::{ElementKeys, EntityReader, OwnerReader, PropertyWriter, damaged},
    key::{KeyReader, KeyWriter},
    layout::{Holds, Layout, LayoutInfo, has_property},
    sealed::{Sealed, sealed},
};

pub use carried::{Carried, Unknown};
pub use erased::{EntityInfo, WriteEntity, owner_part};
pub use version::{
    FromOlder, ReadEntity, StoredRow, VERSION, check_older, check_unread, check_version, newer_version, read_older,
    version_value,
};
pub use with_etag::WithETag;

/// A struct that is stored as a row: `#[derive(TableEntity)]`.
///
/// Besides this trait, the derive generates these functions:
///
/// - `T::key(…)` returns the full key as a [`Point`](crate::Point).
/// - `T::by_key(…)` returns a partition as [`Rows`](crate::Rows).
/// - `T::by_NAME(…)` returns the same for each index.
/// - `T::by_partitions(range)` returns a range of partitions.
/// - `T::scan()` returns the whole table, under `#[table(allow_scan)]`.
///
/// `#[table(rename(key = "…"))]` gives `key`, `by_key`, `by_partitions` or `scan` another name, for a type that has a
/// function of that name already.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "a struct is an entity with `#[derive(TableEntity)]`",
    note = "a group (`#[derive(EntityGroup)]`) is read, modified and deleted; create, filter and insert each of its entities: \
            `Item::by_key(…).filter(…)`, and of a `Report::Item(item)`, `tables.insert(&item)`",
    note = "of several entities: `create::<Post>().and::<Comment>()`, and a transaction or a query for each"
)]
pub trait TableEntity: Sized + Shared {
    /// The facts about the entity.
    #[doc(hidden)]
    const INFO: &'static EntityInfo;
    /// Columns of the properties, for filters and patches.
    type Columns: Copy;
    #[doc(hidden)]
    const COLUMNS: Self::Columns;

    /// Query that `scan` returns.
    #[doc(hidden)]
    type Scan;

    /// Reads the whole table. With `#[table(allow_scan)]`, the derive generates an own function of the type, which comes
    /// first; without it, this one has the message.
    #[doc(hidden)]
    fn scan() -> Self::Scan
    where
        Self: AllowScan;
    /// Writes the keys of a layout. Returns `false` if the entity has no row in a sparse index, or after the rows of an index
    /// with `each`.
    #[doc(hidden)]
    fn encode_keys(&self, layout: usize, keys: &mut KeyWriter<'_>) -> Result<bool, KeyProblem>;
    #[doc(hidden)]
    fn write(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
    /// Writes the pointer of an index's row and the properties that the row includes, but not the properties of a whole
    /// copy.
    #[doc(hidden)]
    fn write_index(&self, layout: usize, properties: &mut PropertyWriter<'_>) -> Result<()> {
        let _ = (layout, properties);
        Ok(())
    }
    /// Writes a part of the primary key, counted over both keys, from the property of a pointer.
    #[doc(hidden)]
    fn owner_part(part: usize, owner: &mut OwnerReader<'_>) -> Result<()> {
        let _ = (part, owner);
        Ok(())
    }
    /// Writes one of the properties that the index's `values` list, from the part of its key that holds the property
    /// whole.
    #[doc(hidden)]
    fn index_value(layout: usize, part: usize, key: KeyReader<'_>, properties: &mut PropertyWriter<'_>) -> Result<()> {
        let _ = (layout, part, key, properties);
        Ok(())
    }
    /// Writes the keys of an entity's rows in an index with `each`, from one of these rows, which holds the elements.
    #[doc(hidden)]
    fn element_keys(
        layout: usize,
        row: &mut EntityReader<'_>,
        keys: &mut ElementKeys<'_>,
    ) -> Result<Result<bool, KeyProblem>> {
        let _ = (layout, row, keys);
        Ok(Ok(false))
    }
    #[doc(hidden)]
    fn read(row: &mut EntityReader<'_>) -> Result<Self>;
    /// Reads a row of an older version: `#[table(from = PostV1)]`.
    #[doc(hidden)]
    fn read_older(row: StoredRow<'_>, version: u32) -> Result<ReadEntity<Self>> {
        version::refuse_older(row, version)
    }

    /// Returns a description of how the entity is stored: its keys and properties.
    fn layout() -> Layout {
        Self::INFO.layout
    }
}

/// A type whose values threads can share: `Send + Sync + 'static`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared between threads, so it cannot be an entity",
    label = "a field is not `Send` or not `Sync`",
    note = "write `Arc` instead of `Rc`, an atomic or a `Mutex` instead of a `Cell` or a `RefCell`, and `dyn Trait + Send + \
            Sync` instead of `dyn Trait`"
)]
pub trait Shared: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shared for T {}

/// An entity whose whole table may be scanned: `#[table(allow_scan)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not allow table scans",
    label = "a scan reads every row of the table",
    note = "open a partition with `{Self}::by_key(…)`",
    note = "if a scan is what you want, put `#[table(allow_scan)]` on `{Self}`"
)]
pub trait AllowScan {}

/// An entity whose rows are all stored in one partition, so that one transaction can write them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take part in a transaction",
    label = "has, or may have, an index in another partition",
    note = "a transaction holds one partition; write `{Self}` with `insert` or `update`, or make its indexes \
            `same_partition`",
    note = "if `{Self}` is no entity yet, add `#[derive(TableEntity)]`; a type parameter needs the bound \
            `table_runtime::types::OnePartition` too"
)]
pub trait OnePartition {}

/// Property that distinguishes the entities of one table.
pub const KIND: &str = "EntityType";
/// Property that marks an entity whose insert is not committed: it holds the id of that insert. Reads skip such
/// entities.
pub const PENDING: &str = "IndexPending";
/// Property that identifies the write that wrote the row.
pub const WRITE_ID: &str = "WriteId";

/// Returns the two keys of an entity's row in its table.
pub fn keys(entity: &dyn WriteEntity) -> Result<RowKeys, Box<KeyError>> {
    Ok(keys_in(entity, 0)?.next().unwrap_or_default())
}

/// Returns the two keys of each row that an entity has in one of its layouts, in the order of `RowKeys`.
pub fn keys_in(
    entity: &dyn WriteEntity,
    layout: usize,
) -> Result<impl Iterator<Item = RowKeys> + use<>, Box<KeyError>> {
    let mut keys = KeyWriter::new(&entity.info().layouts[layout]);
    let written = entity.write_keys(layout, &mut keys);
    keys.finish(written)
}

/// Checks that the keys of a stored row in a layout are those of the entity that was read from the row. If `all` is false,
/// checks only the parts that lose something of their fields; the others were read from the keys.
///
/// # Errors
/// Another program wrote the row under other keys. Its entity is not the one that the keys name.
#[inline]
pub fn check_keys<E: TableEntity>(entity: &E, layout: usize, table: &str, row: &RowRef<'_>, all: bool) -> Result<()> {
    let info = &E::INFO.layouts[layout];
    if info.each().is_some() {
        return check_element(info, table, row, keys_in(entity, layout)?);
    }
    let mut keys = KeyWriter::comparing(info, (row.partition_key, row.row_key), all);
    match entity.encode_keys(layout, &mut keys) {
        Ok(_) => Ok(()),
        Err(problem) => Err(of_row(keys.error(problem), table, row)),
    }
}

/// Checks that a stored row of an index is one of these rows, which an entity has for the elements of a field.
fn check_element(
    info: &'static LayoutInfo,
    table: &str,
    row: &RowRef<'_>,
    mut rows: impl Iterator<Item = RowKeys>,
) -> Result<()> {
    if rows.any(|keys| keys.is((row.partition_key, row.row_key))) {
        return Ok(());
    }
    let field = info.each().unwrap_or_default();
    let problem = KeyProblem::malformed(format!("the key of an element of `{field}`"), row.row_key);
    Err(of_row(info.key_error(field, problem), table, row))
}

#[cold]
fn of_row(mut error: Box<KeyError>, table: &str, row: &RowRef<'_>) -> Error {
    error.row = Some(row.id(table));
    error.into()
}

/// Returns an entity's rows with the parts that a later write needs, in the order of the layouts.
pub fn loaded_rows(entity: &dyn WriteEntity) -> Result<LoadedRows, Box<KeyError>> {
    let layouts = entity.info().layouts;
    let mut rows = LoadedRows::with_capacity(layouts.len());
    for (layout, info) in layouts.iter().enumerate() {
        let is_include = info.index.as_ref().is_some_and(|index| index.holds == Holds::Include);
        // All rows of an index have the same properties.
        let mut of_index: Option<Option<Properties>> = None;
        for keys in keys_in(entity, layout)? {
            // Values that no property can hold are unknown here; writing them reports the error.
            let included = || index_properties(entity, layout, &keys, Properties::default()).ok();
            let included = if is_include { of_index.get_or_insert_with(included).clone() } else { None };
            rows.push(LoadedRow { layout, keys, included });
        }
    }
    Ok(rows)
}

/// Returns the properties of an entity's row with these keys, without the properties that the crate adds to it and not to
/// copies.
pub fn properties(entity: &dyn WriteEntity, keys: &RowKeys) -> Result<Properties> {
    let info = entity.info();
    let mut properties = Properties::with_capacity(128);
    if let Some(version) = version_value(info.version) {
        properties.push(VERSION, version);
    }
    entity.write_properties(&mut PropertyWriter::new(&info.layouts[0].table, keys, &mut properties))?;
    Ok(properties)
}

/// Appends the properties of an entity's row in an index to `properties`.
pub fn index_properties(
    entity: &dyn WriteEntity,
    layout: usize,
    keys: &RowKeys,
    mut properties: Properties,
) -> Result<Properties> {
    let table = &entity.info().layouts[layout].table;
    entity.write_index_properties(layout, &mut PropertyWriter::new(table, keys, &mut properties))?;
    Ok(properties)
}

/// A row that an entity had when it was loaded, with the parts that a later write needs.
#[derive(Clone, Debug)]
pub struct LoadedRow {
    pub layout: usize,
    pub keys: RowKeys,
    /// Properties that the row of an index includes, if they are known.
    pub included: Option<Properties>,
}

/// Rows that an entity had when it was loaded, in the order of its layouts and of their keys: any number of rows in each
/// index.
pub type LoadedRows = Vec<LoadedRow>;

/// An entity as it was loaded, with the parts that an update needs.
#[derive(Clone, Debug, Default)]
pub struct LoadedEntity {
    /// Empty if the entity has no indexes.
    pub(crate) rows: LoadedRows,
    /// The time from which on the entity is absent.
    pub(crate) until: Option<Ticks>,
    /// Properties that the update writes back.
    pub(crate) unknown: Unknown,
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

sealed!([E] Stored<E>;);

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
            (Self::Entity, Some(name)) => time_of(properties(entity, &keys(entity).ok()?).ok()?.get(name)),
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
            self.loaded = Some(Box::new(loaded_rows(entity)));
        }
    }

    /// Returns the primary key that the entity was loaded with.
    pub fn loaded_key(&self, entity: &dyn WriteEntity) -> Result<RowKeys, Box<KeyError>> {
        match self.loaded.as_deref() {
            Some(Ok(rows)) => Ok(rows.first().map(|row| row.keys.clone()).unwrap_or_default()),
            Some(Err(error)) => Err(error.clone()),
            None => keys(entity),
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
            None => loaded_rows(entity)?,
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
    match is_pending(table, *row) {
        Ok(true) => None,
        Ok(false) => Some(error),
        Err(damaged) => Some(damaged),
    }
}

/// Reads a copy of an entity from its row in an index, with the entity's keys.
pub fn read_copy<E: TableEntity>(layout: usize, row: RowRef<'_>) -> Result<(RowKeys, E)> {
    let keys = E::INFO.owner(layout, row)?;
    let entity: E =
        StoredRow::of_copy(E::INFO, &RowRef { partition_key: &keys.partition_key, row_key: &keys.row_key, ..row })
            .read()?
            .entity;
    check_keys(&entity, layout, &E::INFO.layouts[layout].table, &row, true)?;
    Ok((keys, entity))
}

/// Returns the keys of the rows that an entity has in an index with `each`, given one of these rows, which holds the
/// elements.
///
/// # Errors
/// Another program wrote the row under the key of an element that it does not have.
pub fn element_keys<E: TableEntity>(layout: usize, row: &RowRef<'_>) -> Result<Vec<RowKeys>> {
    let info = &E::INFO.layouts[layout];
    let mut keys = ElementKeys::new(info, E::INFO.separator(), row)?;
    match E::element_keys(layout, &mut EntityReader::new(&info.table, row), &mut keys)? {
        Ok(_) => {
            let rows = keys.finish();
            check_element(info, &info.table, row, rows.iter().cloned())?;
            Ok(rows)
        }
        Err(problem) => Err(of_row(info.key_error(info.each().unwrap_or_default(), problem), &info.table, row)),
    }
}

/// Checks whether the property of a row is one of an entity's own, or describes the last write of the row.
///
/// A write id proves who wrote a row last, so no other write keeps it. The kind of an entity without one belongs to
/// another program.
pub fn is_known(info: &EntityInfo, name: &str) -> bool {
    match name {
        WRITE_ID => true,
        KIND if info.kind().is_some() => true,
        VERSION if info.version > 1 => true,
        name => has_property(info.fields, name),
    }
}

/// Checks whether a property of a row is [known](is_known), or marks an insert that is not committed.
pub fn is_own(info: &EntityInfo, name: &str, value: ValueRef<'_>) -> bool {
    is_known(info, name) || name == PENDING && attempt(value).is_some()
}

/// Returns the attempt that wrote an insert which is not committed, from the value of `IndexPending`. A property of this name
/// with any other value is that of another program.
pub const fn attempt(value: ValueRef<'_>) -> Option<Guid> {
    if let ValueRef::Guid(attempt) = value { Some(attempt) } else { None }
}

/// Returns the two keys of the entity to which a row of an index belongs.
pub fn owner<E: TableEntity>(layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
    E::INFO.owner(layout, row)
}

/// Checks whether the row in `table` is an entity of this kind.
pub fn is_kind(table: &str, row: RowRef<'_>, kind: &str) -> Result<bool> {
    let mut properties = row.properties;
    let found = properties.seek(KIND).map_err(|damage| damaged(table, row, damage))?;
    Ok(found == Some(ValueRef::String(kind)))
}

/// Checks whether the row in `table` is an entity whose insert is not committed yet.
pub fn is_pending(table: &str, row: RowRef<'_>) -> Result<bool> {
    let mut properties = row.properties;
    let found = properties.seek(PENDING).map_err(|damage| damaged(table, row, damage))?;
    Ok(found.and_then(attempt).is_some())
}
