//! Entities: the trait that the derive implements for a struct, and its stored form.

mod carried;
mod erased;
mod set;
mod version;

use table_store::{
    Guid, Properties, Result, RowRef, ValueRef,
    error::{KeyError, KeyProblem},
    unstable::RowKeys,
};

use crate::{
    codec::{ElementKeys, EntityReader, OwnerReader, PropertyWriter, seek},
    key::{KeyReader, KeyWriter},
    layout::{Holds, Layout, LayoutExt, LayoutInfo, has_property, of_row},
};

pub use carried::{Carried, Unknown};
pub use erased::{EntityInfo, WriteEntity, owner_part};
pub use set::{EntitySet, VisitEntities};
pub use version::{
    FromOlder, ReadEntity, StoredRow, VERSION, check_older, check_unread, check_version, newer_version, read_older,
    version_value,
};

/// A struct that is stored as a row: `#[derive(TableEntity)]`.
///
/// Besides this trait, the derive generates these functions:
///
/// - `T::key(…)` returns the full key as a `Point`.
/// - `T::by_key(…)` returns a partition as `Rows`.
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

/// Property that distinguishes the entities of one table.
pub const KIND: &str = "EntityType";
/// Property that marks an entity whose insert is not committed: it holds the id of that insert. Reads skip such
/// entities.
pub const PENDING: &str = "IndexPending";
/// Property that identifies the write that wrote the row.
pub const WRITE_ID: &str = "WriteId";
/// Property of an entity whose writes record events: the ticks of the last one.
pub const EVENT_AT: &str = "EventAt";

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

/// Returns the properties by which an event leads to the entity.
pub fn event_pointer(entity: &dyn WriteEntity, keys: &RowKeys) -> Result<Properties> {
    let (info, mut pointer) = (entity.info(), Properties::with_capacity(64));
    let table = &info.layouts[0].table;
    entity.write_index_properties(info.layouts.len(), &mut PropertyWriter::new(table, keys, &mut pointer))?;
    Ok(pointer)
}

/// A row that an entity had when it was loaded, with the parts that a later write needs.
#[derive(Clone, Debug)]
pub struct LoadedRow {
    /// Position among the layouts of the entity.
    pub layout: usize,
    /// The row's keys.
    pub keys: RowKeys,
    /// Properties that the row of an index includes, if they are known.
    pub included: Option<Properties>,
}

/// Rows that an entity had when it was loaded, in the order of its layouts and of their keys: any number of rows in each
/// index.
pub type LoadedRows = Vec<LoadedRow>;

/// Returns the keys of the rows that an entity has in an index with `each`, given one of these rows, which holds the
/// elements.
///
/// # Errors
/// Another program wrote the row under the key of an element that it does not have.
pub fn element_keys<E: TableEntity>(layout: usize, row: &RowRef<'_>) -> Result<Vec<RowKeys>> {
    let info = &E::INFO.layouts[layout];
    let mut keys = ElementKeys::new(info, row)?;
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
        EVENT_AT if info.events.is_some() => true,
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

/// Checks whether the row in `table` is an entity of this kind.
pub fn is_kind(table: &str, row: RowRef<'_>, kind: &str) -> Result<bool> {
    Ok(seek(table, row, KIND)? == Some(ValueRef::String(kind)))
}

/// Checks whether the row in `table` is an entity whose insert is not committed yet.
pub fn is_pending(table: &str, row: RowRef<'_>) -> Result<bool> {
    Ok(seek(table, row, PENDING)?.and_then(attempt).is_some())
}
