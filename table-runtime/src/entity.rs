//! Entities: what the derive makes of a struct.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::SystemTime,
};

use crate::{
    ETag, KeyError, KeyWriter, Layout, LayoutInfo, Properties, PropertyInfo, Result, RowRef, Ticks, ValueRef,
    codec::{OwnerOf, OwnerReader, PropertyWriter, RowReader, damaged},
    key::{KeyProblem, KeyReader},
    layout::Holds,
    row::RowKeys,
};

/// A struct that is stored as a row: `#[derive(TableEntity)]`.
///
/// Beside this trait the derive writes `T::key(…)`, the full key as a [`Point`](crate::Point), `T::by_key(…)`, a
/// partition as [`Rows`](crate::Rows), `T::by_NAME(…)`, the same of each index, and `T::scan()`, which compiles under `#[table(allow_scan)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    note = "add `#[derive(TableEntity)]` to the struct; of a group (`#[derive(EntityGroup)]`), create and write each of its \
            entities"
)]
pub trait TableEntity: Sized + Send + Sync + 'static {
    #[doc(hidden)]
    const LAYOUTS: &'static [LayoutInfo];
    #[doc(hidden)]
    const PROPERTIES: &'static [PropertyInfo];
    #[doc(hidden)]
    const NAME: &'static str;
    #[doc(hidden)]
    const KIND: Option<&'static str>;
    #[doc(hidden)]
    const WRITE_ID: bool;
    #[doc(hidden)]
    const SEPARATOR: Option<char>;
    /// The properties, for filters and patches.
    type Columns: Copy;
    #[doc(hidden)]
    const COLUMNS: Self::Columns;

    /// Writes the keys of a layout; `false` if the entity has no row in it: a sparse index.
    #[doc(hidden)]
    fn keys(&self, layout: usize, keys: &mut KeyWriter) -> Result<bool, KeyProblem>;
    #[doc(hidden)]
    fn write(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
    /// Writes what an index's row holds: its pointer, and the properties that it includes; not those of a whole copy.
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
    /// Writes the property that a part of an index's key holds whole, of those that its `values` list.
    #[doc(hidden)]
    fn index_value(layout: usize, part: usize, key: KeyReader<'_>, properties: &mut PropertyWriter<'_>) -> Result<()> {
        let _ = (layout, part, key, properties);
        Ok(())
    }
    #[doc(hidden)]
    fn read(row: &mut RowReader<'_>) -> Result<Self>;

    /// How the entity is stored: its keys and properties.
    fn layout() -> Layout {
        Layout {
            entity: Self::KIND.unwrap_or(Self::NAME),
            layouts: Self::LAYOUTS,
            properties: Self::PROPERTIES,
            kind: Self::KIND,
            write_id: Self::WRITE_ID,
            separator: Self::SEPARATOR,
        }
    }
}

/// An entity whose table may be scanned whole: `#[table(allow_scan)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not allow table scans",
    label = "a scan reads every row of the table",
    note = "open a partition with `{Self}::by_key(…)`",
    note = "if a scan is what you want, put `#[table(allow_scan)]` on `{Self}`"
)]
pub trait AllowScan {}

/// An entity all of whose rows stand in one partition, so that a transaction can hold it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take part in a transaction",
    label = "has an index in another partition",
    note = "a transaction holds one partition; write `{Self}` with `insert` or `update`, or make its indexes \
            `same_partition`"
)]
pub trait OnePartition: TableEntity {}

/// The property that tells the entities of one table apart.
pub(crate) const KIND: &str = "EntityType";
/// The property of an entity whose insert is not committed: that insert's id. No read gives such an entity.
pub(crate) const PENDING: &str = "IndexPending";
/// The property that tells whose a write was.
pub(crate) const WRITE_ID: &str = "WriteId";

/// The two keys of an entity's row in its table.
pub(crate) fn keys<E: TableEntity>(entity: &E) -> Result<(String, String), Box<KeyError>> {
    Ok(keys_in(entity, 0)?.unwrap_or_default())
}

/// The two keys of an entity's row in one of its layouts; `None` where it has none.
pub(crate) fn keys_in<E: TableEntity>(entity: &E, layout: usize) -> Result<Option<RowKeys>, Box<KeyError>> {
    let mut keys = KeyWriter::new(&E::LAYOUTS[layout]);
    let written = entity.keys(layout, &mut keys);
    keys.finish(written)
}

/// The keys of an entity's rows, in the order of its layouts; `None` where a sparse index has none.
pub(crate) fn all_keys<E: TableEntity>(entity: &E) -> Result<Vec<Option<RowKeys>>, Box<KeyError>> {
    (0..E::LAYOUTS.len()).map(|layout| keys_in(entity, layout)).collect()
}

/// A key encoder for measurements: it writes the primary key of one entity after the other into the same memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct KeyEncoder(KeyWriter);

impl KeyEncoder {
    /// An encoder of the primary keys of `E`.
    pub fn new<E: TableEntity>() -> Self {
        Self(KeyWriter::new(&E::LAYOUTS[0]))
    }

    /// Writes the keys and gives the length of both.
    #[inline]
    pub fn encode<E: TableEntity>(&mut self, entity: &E) -> Result<usize, KeyProblem> {
        self.0.begin();
        entity.keys(0, &mut self.0)?;
        Ok(self.0.partition.len() + self.0.row.len())
    }
}

/// The properties of an entity's row, which has these keys, before what the crate itself adds.
pub(crate) fn properties<E: TableEntity>(entity: &E, keys: &(String, String)) -> Result<Properties> {
    let mut properties = Properties::with_capacity(128);
    entity.write(&mut PropertyWriter::new(E::LAYOUTS[0].table, keys, &mut properties))?;
    Ok(properties)
}

/// The properties of an entity's row in an index, after those that are there.
pub(crate) fn index_properties<E: TableEntity>(
    entity: &E,
    layout: usize,
    keys: &RowKeys,
    mut properties: Properties,
) -> Result<Properties> {
    let table = E::LAYOUTS[layout].table;
    entity.write_index(layout, &mut PropertyWriter::new(table, keys, &mut properties))?;
    Ok(properties)
}

/// A row that an entity had when it was loaded, as far as a later write has to know it.
#[derive(Clone, Debug)]
pub(crate) struct LoadedRow {
    pub(crate) keys: RowKeys,
    /// What an index's row includes, where it is known.
    pub(crate) included: Option<Properties>,
}

/// The rows that an entity had when it was loaded, in the order of its layouts; `None` where a sparse index has none.
pub(crate) type LoadedRows = Vec<Option<LoadedRow>>;

/// The rows of an entity as it was loaded.
fn loaded_rows<E: TableEntity>(entity: &E) -> Result<LoadedRows, Box<KeyError>> {
    let rows = all_keys(entity)?.into_iter().zip(E::LAYOUTS).enumerate().map(|(at, (keys, layout))| {
        let keys = keys?;
        // What no property holds is not known; a write of it tells why.
        let included = match &layout.index {
            Some(index) if index.holds == Holds::Include => {
                index_properties(entity, at, &keys, Properties::default()).ok()
            }
            _ => None,
        };
        Some(LoadedRow { keys, included })
    });
    Ok(rows.collect())
}

/// An entity as the table holds it: it derefs to the entity, and knows its version.
///
/// Change it through `DerefMut`, then [`update`](crate::Tables::update) writes it back, if the row has not changed
/// meanwhile. Reading through it costs nothing; the first mutable access keeps the keys that the entity was loaded
/// with, and what its indexes include.
///
/// Its functions are associated ones, `Stored::etag(&stored)`, so that the entity's own are never hidden.
#[derive(Clone)]
pub struct Stored<T> {
    entity: T,
    etag: ETag,
    timestamp: Ticks,
    /// The entity's rows before the first mutable access.
    loaded: Option<Result<LoadedRows, Box<KeyError>>>,
    /// Whether it was made by [`new`](Self::new): the table may hold another entity in this version.
    made: bool,
}

impl<T> Stored<T> {
    /// An entity as it stands in the row of this version, after an insert, or kept from a read: to
    /// [`update`](crate::Tables::update) or [`delete`](crate::Tables::delete) it without reading it again.
    ///
    /// An entity with indexes is read all the same, with one request more: it may have been changed before it came here,
    /// and its index rows are those of what the table holds. After an update that is known, and the next one takes no
    /// more than any other.
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
        let timestamp = etag.timestamp().unwrap_or(Ticks::UNIX_EPOCH);
        Self { entity, etag, timestamp, loaded: None, made: true }
    }

    /// The version of the row.
    pub const fn etag(this: &Self) -> &ETag {
        &this.etag
    }

    /// When the store wrote the row, by its clock; 1970 if it was made with an ETag that does not say.
    pub fn timestamp(this: &Self) -> SystemTime {
        this.timestamp.to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The entity alone.
    pub fn into_inner(this: Self) -> T {
        this.entity
    }

    /// Takes note of a new version of what is stored; the changes are still to be written.
    pub(crate) fn touched(&mut self, etag: &ETag) {
        self.etag = etag.clone();
    }

    /// Takes note that the entity was written as it now is.
    pub(crate) fn written(&mut self, etag: ETag) {
        if let Some(timestamp) = etag.timestamp() {
            self.timestamp = timestamp;
        }
        self.etag = etag;
        self.loaded = None;
        self.made = false;
    }
}

impl<T: TableEntity> Stored<T> {
    /// The primary key that the entity was loaded with.
    pub(crate) fn loaded_key(&self) -> Result<RowKeys, Box<KeyError>> {
        match &self.loaded {
            Some(Ok(rows)) => {
                let primary = rows.first().and_then(Option::as_ref);
                Ok(primary.map(|row| row.keys.clone()).unwrap_or_default())
            }
            Some(Err(error)) => Err(error.clone()),
            None => keys(&self.entity),
        }
    }

    /// The rows that the entity was loaded with; `None` if only the table knows them.
    pub(crate) fn loaded_rows(&self) -> Result<Option<LoadedRows>, Box<KeyError>> {
        if self.made && T::LAYOUTS.len() > 1 {
            return Ok(None);
        }
        self.loaded.clone().unwrap_or_else(|| loaded_rows(&self.entity)).map(Some)
    }
}

impl<T> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.entity
    }
}

impl<T: TableEntity> DerefMut for Stored<T> {
    fn deref_mut(&mut self) -> &mut T {
        if self.loaded.is_none() {
            self.loaded = Some(loaded_rows(&self.entity));
        }
        &mut self.entity
    }
}

/// The entities are equal, and of one version.
impl<T: PartialEq> PartialEq for Stored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entity == other.entity && self.etag == other.etag
    }
}

impl<T: PartialEq> PartialEq<T> for Stored<T> {
    fn eq(&self, other: &T) -> bool {
        self.entity == *other
    }
}

/// As the entity alone.
impl<T: serde::Serialize> serde::Serialize for Stored<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entity.serialize(serializer)
    }
}

impl<T: fmt::Debug> fmt::Debug for Stored<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("entity", &self.entity).field("etag", &self.etag).finish_non_exhaustive()
    }
}

/// Reads an entity from its row in `table`. Damage anywhere in the row is found.
pub(crate) fn read<E: TableEntity>(table: &str, row: RowRef<'_>) -> Result<Stored<E>> {
    let mut reader = RowReader::new(&E::LAYOUTS[0], table, row);
    let entity = E::read(&mut reader)?;
    reader.finish()?;
    Ok(Stored { entity, etag: row.etag.clone(), timestamp: row.timestamp, loaded: None, made: false })
}

/// Returns the two keys of the entity to which a row of an index belongs.
pub(crate) fn owner<E: TableEntity>(layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
    let (primary, index) = (&E::LAYOUTS[0], &E::LAYOUTS[layout]);
    OwnerOf { primary, index, separator: E::SEPARATOR, part: E::owner_part }.keys(row)
}

/// Whether the row in `table` is an entity of this kind.
pub(crate) fn is_kind(table: &str, row: RowRef<'_>, kind: &str) -> Result<bool> {
    let mut properties = row.properties;
    let found = properties.seek(KIND).map_err(|damage| damaged(table, row, damage))?;
    Ok(found == Some(ValueRef::String(kind)))
}

/// Whether the row in `table` is an entity whose insert is not committed yet.
pub(crate) fn is_pending(table: &str, row: RowRef<'_>) -> Result<bool> {
    let mut properties = row.properties;
    let found = properties.seek(PENDING).map_err(|damage| damaged(table, row, damage))?;
    Ok(found.is_some())
}
