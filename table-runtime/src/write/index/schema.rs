//! The rows of an entity in all of its layouts, without the entity's type.

use std::{iter, ops::Deref, slice};

use table_model::{
    Holds, LayoutInfo, PropertyInfo, Scope, TableEntity,
    unstable::{
        codec::index_value,
        entity::{
            self, EntityInfo, LoadedRow, LoadedRows, PENDING, ReadEntity, StoredRow, Unknown, VERSION, WriteEntity,
            version_value,
        },
        event,
        layout::{LayoutExt, has_property},
        lifecycle::{self, Standing},
    },
};
use table_store::{
    Error, Guid, Properties, PropertiesRef, Result, Row, RowId, RowRef, Ticks, ValueRef,
    backend::Reach,
    error::{LimitError, QueryError},
    unstable::{RowKeys, limits, observe::ObservedOperation},
};

use crate::{
    client::{
        stored::LoadedEntity,
        tables::{KEY, LayoutId},
    },
    write::RowHasher,
};

/// The parts of an entity's type that writes need: its description, and a function. They are values, so that the code of
/// writes is compiled once and not for each entity.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    info: &'static EntityInfo,
    /// Reads the entity in a row, and returns its rows and the properties that the struct does not know.
    rows: fn(StoredRow<'_>) -> Result<(Encoded, Unknown)>,
}

impl Deref for Schema {
    type Target = EntityInfo;

    fn deref(&self) -> &EntityInfo {
        self.info
    }
}

impl Schema {
    /// Returns a user's operation on the entity.
    pub fn operation(&self, verb: &'static str) -> ObservedOperation {
        ObservedOperation { verb, entity: self.info.entity, table: &self.layouts[0].table, cost: None }
    }

    /// Returns the error of an operation on the entity that cannot be carried out.
    pub fn refused(&self, problem: impl Into<String>) -> Error {
        Box::new(QueryError::new(self.table().to_owned(), KEY, problem.into())).into()
    }
}

/// The rows of an entity.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub primary: EncodedRow,
    /// The rows of its indexes, in the order of their layouts and keys. An entity has any number of rows in an index.
    pub index_rows: Vec<EncodedRow>,
    /// Whether all rows were checked against the service's limits.
    pub is_checked: bool,
    /// The properties by which an event leads to the entity; `None` if writes record none.
    pub event_pointer: Option<Properties>,
}

/// A row as it is written.
#[derive(Clone, Debug)]
pub struct EncodedRow {
    pub layout: usize,
    pub keys: RowKeys,
    pub properties: Properties,
}

/// An entity that was read from its table.
#[derive(Clone, Debug)]
pub struct FoundEntity {
    pub row: Row,
    pub encoded: Encoded,
    /// The properties that the struct does not know.
    pub unknown: Unknown,
    /// The attempt of the insert that has not committed the entity yet.
    pub pending: Option<Guid>,
}

impl Encoded {
    /// Encodes an entity in every layout. Checks each row of an entity with indexes against the service's limits, so
    /// that the error names the index, and comes before the first request of several; a single row is checked with its
    /// request.
    pub fn of(entity: &dyn WriteEntity) -> Result<Self> {
        let mut encoded = Self::unchecked(entity)?;
        let layouts = entity.info().layouts;
        if layouts.len() > 1 {
            encoded.rows().try_for_each(|row| check(&layouts[row.layout], row))?;
            encoded.check_elements(entity.info())?;
            encoded.is_checked = true;
        }
        Ok(encoded)
    }

    /// Checks that one transaction can delete the entity with all of its rows in its partition. An entity without elements
    /// has one row in each of at most 49 indexes.
    pub fn check_elements(&self, info: &EntityInfo) -> Result<()> {
        let is_counted = |layout: &LayoutInfo| layout.index.is_none() || layout.is_same_partition();
        let count = self.rows().filter(|row| is_counted(&info.layouts[row.layout])).count();
        // The deletion of an entity records one event.
        let (room, limit) = match info.events {
            None => (limits::OPERATIONS, "100 rows in its partition, which one transaction can delete"),
            Some(_) => {
                (limits::OPERATIONS - 1, "99 rows in its partition, which one transaction can delete beside an event")
            }
        };
        if count <= room {
            return Ok(());
        }
        let elements = info.layouts.iter().enumerate().filter(|(_, layout)| is_counted(layout));
        let elements = elements.filter_map(|(at, layout)| {
            let (field, count) = (layout.each()?, self.rows_in(at).len());
            (count > 0).then(|| format!(", with {count} elements of `{field}` in the index `{}`", layout.name))
        });
        let (what, found) = ("the entity has".to_owned(), format!("{count} rows{}", elements.collect::<String>()));
        let table = info.layouts[0].table.to_string();
        let row = RowId::of(&table, &self.primary.keys);
        Err(Box::new(LimitError::new(table, Some(row), what, found, limit)).into())
    }

    fn unchecked(entity: &dyn WriteEntity) -> Result<Self> {
        let (layouts, kind) = (entity.info().layouts, entity.info().kind());
        let primary = entity::keys(entity)?;
        let mut properties = entity::properties(entity, &primary)?;
        // A copy has no kind.
        let has_copies = layouts.iter().any(LayoutInfo::is_copy);
        let stored = if has_copies { properties.clone() } else { Properties::default() };
        if let Some(kind) = kind {
            properties.push(entity::KIND, ValueRef::String(kind));
        }
        let primary = EncodedRow { layout: 0, keys: primary, properties: properties.shared() };
        let mut index_rows = Vec::with_capacity(layouts.len() - 1);
        for (layout, info) in layouts.iter().enumerate().skip(1) {
            // All rows of an index have the same properties.
            let mut properties: Option<Properties> = None;
            for keys in entity::keys_in(entity, layout)? {
                let of_row = if let Some(properties) = &properties {
                    properties.clone()
                } else {
                    let begun = if info.is_copy() { stored.clone() } else { Properties::with_capacity(64) };
                    entity::index_properties(entity, layout, &keys, begun)?.shared()
                };
                if info.each().is_some() {
                    properties.get_or_insert_with(|| of_row.clone());
                }
                index_rows.push(EncodedRow { layout, keys, properties: of_row });
            }
        }
        let has_events = entity.info().events.is_some();
        let event_pointer = has_events.then(|| entity::event_pointer(entity, &primary.keys)).transpose()?;
        Ok(Self { primary, index_rows, is_checked: false, event_pointer })
    }

    /// Returns all rows of the entity.
    pub fn rows(&self) -> impl Iterator<Item = &EncodedRow> {
        iter::once(&self.primary).chain(&self.index_rows)
    }

    /// Returns the entity's rows in an index.
    pub fn rows_in(&self, layout: usize) -> &[EncodedRow] {
        let begin = self.index_rows.partition_point(|row| row.layout < layout);
        let end = self.index_rows.partition_point(|row| row.layout <= layout);
        &self.index_rows[begin..end]
    }

    /// Returns the entity's row in an index that has these keys.
    pub fn row(&self, layout: usize, keys: &RowKeys) -> Option<&EncodedRow> {
        let at = self.index_rows.binary_search_by(|row| (row.layout, &row.keys).cmp(&(layout, keys)));
        Some(&self.index_rows[at.ok()?])
    }

    /// Checks whether the entity has the row with these keys in an index: whether it has the value of the row.
    pub fn has(&self, layout: usize, keys: &RowKeys) -> bool {
        self.row(layout, keys).is_some()
    }

    /// Adds properties to the entity's own row that its struct does not know.
    pub fn keep(&mut self, unknown: &Unknown, is_own: impl Fn(&str, ValueRef<'_>) -> bool) {
        for (name, value) in
            unknown.iter().flat_map(|unknown| unknown.properties().iter()).filter(|(name, value)| !is_own(name, *value))
        {
            self.primary.properties.push(name, value);
            self.is_checked = false;
        }
    }

    /// Returns the rows in the form that a write compares with the new rows.
    pub fn into_loaded(self) -> LoadedRows {
        let loaded = |row: EncodedRow| LoadedRow { layout: row.layout, keys: row.keys, included: Some(row.properties) };
        iter::once(self.primary).chain(self.index_rows).map(loaded).collect()
    }
}

/// Checks a row against the service's limits. The error of an index row names the index.
fn check(layout: &LayoutInfo, EncodedRow { keys, properties, .. }: &EncodedRow) -> Result<()> {
    let RowKeys { partition_key, row_key } = keys;
    let checked = limits::check_key(&layout.table, "PartitionKey", partition_key)
        .and_then(|()| limits::check_key(&layout.table, "RowKey", row_key))
        .and_then(|()| limits::check_row(&layout.table, partition_key, row_key, properties.as_ref()));
    checked.map_err(|error| match error {
        Error::Limit(mut error) if layout.index.is_some() => {
            error.what = format!("in the index `{}`, {}", layout.name, error.what);
            error.into()
        }
        other => other,
    })
}

impl FoundEntity {
    /// Returns how readers see the entity at a moment, if its insert is committed.
    pub fn standing(&self, schema: &Schema, now: Ticks) -> Result<Standing> {
        if schema.lifecycle.is_none() {
            return Ok(Standing::Visible);
        }
        Standing::of(schema.lifecycle, schema.table(), self.row.as_ref(), now)
    }

    /// Returns the entity as an update needs it. A pending insert has no properties to keep.
    pub fn into_loaded(self) -> LoadedEntity {
        let unknown = self.unknown.filter(|_| self.pending.is_none());
        LoadedEntity { rows: self.encoded.into_loaded(), unknown, until: None }
    }
}

impl Schema {
    /// Returns the parts of a type.
    pub const fn of<E: TableEntity>() -> Self {
        const { lifecycle::check_times::<E>() }
        Self { info: E::INFO, rows: rows_of::<E> }
    }

    /// Checks whether the entity has rows besides its own.
    pub const fn has_indexes(&self) -> bool {
        self.info.layout.layouts.len() > 1
    }

    /// Returns the indexes that hold lists. Writers in one partition contend for them.
    pub fn lists(&self) -> impl Iterator<Item = usize> {
        (1..self.layouts.len()).filter(|layout| self.holds(*layout) == Holds::List)
    }

    /// Returns the identity of a layout in the catalog.
    pub fn id(&self, layout: &'static LayoutInfo) -> LayoutId {
        LayoutId::of(self.info, layout)
    }

    /// Returns the identity of the primary key in the catalog.
    pub fn own_id(&self) -> LayoutId {
        self.id(&self.layouts[0])
    }

    /// Returns the entity's table.
    pub fn table(&self) -> &'static str {
        &self.layouts[0].table
    }

    /// Returns the indexes with rows in the entity's partition.
    pub fn same_partition(&self) -> impl Iterator<Item = usize> {
        self.indexes(LayoutInfo::is_same_partition)
    }

    /// Returns the indexes whose rows are in the transaction of an entity, if transactions have this reach.
    pub fn in_transaction(&self, reach: Reach) -> impl Iterator<Item = usize> + use<> {
        let layouts = self.layouts;
        (1..layouts.len()).filter(move |at| reach == Reach::Store || layouts[*at].is_same_partition())
    }

    /// Returns the indexes whose rows are not in the transaction of an entity.
    pub fn in_steps(&self, reach: Reach) -> impl Iterator<Item = usize> + use<> {
        let layouts = self.layouts;
        (1..layouts.len()).filter(move |at| reach != Reach::Store && !layouts[*at].is_same_partition())
    }

    /// Returns the indexes with rows in other partitions that are written before the entity is committed.
    pub fn before_commit(&self) -> impl Iterator<Item = usize> + use<> {
        self.indexes(LayoutInfo::is_before_commit)
    }

    /// Returns the indexes whose rows in other partitions hold properties, which are propagated after the commit.
    pub fn propagated(&self) -> impl Iterator<Item = usize> + use<> {
        self.indexes(|layout| {
            layout.index.as_ref().is_some_and(|index| {
                index.scope == Scope::CrossPartition && matches!(index.holds, Holds::Copy | Holds::Include)
            })
        })
    }

    fn indexes(&self, is: fn(&LayoutInfo) -> bool) -> impl Iterator<Item = usize> + use<> {
        let layouts = self.layouts;
        (1..layouts.len()).filter(move |at| is(&layouts[*at]))
    }

    /// Checks whether a value of the index has one entity at most.
    pub fn is_unique(&self, layout: usize) -> bool {
        self.layouts[layout].index.as_ref().is_some_and(|index| index.unique)
    }

    pub(crate) fn holds(&self, layout: usize) -> Holds {
        self.layouts[layout].index.as_ref().map_or(Holds::Pointer, |index| index.holds)
    }

    /// Returns the value that the keys of an index row hold, for an error.
    pub fn value(&self, layout: usize, keys: &RowKeys) -> String {
        index_value(&self.layouts[layout], keys)
    }

    /// Checks whether the rows of an index may have the property. Properties that the struct does not know make no
    /// difference between rows.
    fn is_known(&self, layout: usize, name: &str) -> bool {
        let pointer = self.layouts[layout].index.as_ref().map_or([].as_slice(), |index| &index.pointer);
        name == VERSION && self.info.version > 1
            || has_property(self.info.fields, name)
            || pointer.iter().any(|field| field.name == name)
    }

    /// Returns the properties of the row of an index as the fields that it holds are read and written now: another program may
    /// store a value in another form, and the row may be older than a field with `#[property(default)]`. `None` if a field cannot
    /// be read.
    fn as_read(&self, layout: usize, stored: PropertiesRef<'_>) -> Option<Properties> {
        let index = self.layouts[layout].index.as_ref()?;
        let is_held = |field: &&PropertyInfo| {
            index.holds == Holds::Copy || index.included.iter().any(|included| included.field == field.field)
        };
        let mut read = Properties::with_capacity(stored.as_bytes().len());
        for field in self.info.fields.iter().filter(is_held) {
            for (name, value) in &field.as_read.read(field.name, stored)? {
                read.push(name, value);
            }
        }
        let is_of_field = |name: &str| {
            self.info.fields.iter().filter(is_held).any(|field| has_property(slice::from_ref(field), name))
        };
        for (name, value) in stored.filter(|(name, _)| !is_of_field(name)) {
            read.push(name, value);
        }
        Some(read)
    }

    /// Returns the hash of a row that an entity should have in an index. It equals the hash of the
    /// [stored row](Self::hash_stored) if that row leads to the entity and has the properties that it should have. A copy of an
    /// older version counts as it is read.
    pub fn hash_expected(&self, hasher: &mut RowHasher, row: &EncodedRow, entity: &RowKeys) -> u128 {
        let RowKeys { partition_key, row_key } = &row.keys;
        hasher.index_row(row.layout, (partition_key, row_key), entity);
        match self.holds(row.layout) {
            Holds::Pointer | Holds::List => hasher.finish(),
            Holds::Include | Holds::Copy => hasher.properties(row.properties.iter()).finish(),
        }
    }

    /// Returns the hash of a stored row of an index that leads to `owner`. A list leads to each of its members.
    pub fn hash_stored(&self, hasher: &mut RowHasher, layout: usize, row: RowRef<'_>, owner: &RowKeys) -> u128 {
        hasher.index_row(layout, (row.partition_key, row.row_key), owner);
        let holds = self.holds(layout);
        if matches!(holds, Holds::Pointer | Holds::List) {
            return hasher.finish();
        }
        // A copy of an older version is compared as it is read. If it cannot be read, it equals no expected row.
        let is_older = holds == Holds::Copy
            && version_value(self.info.version).is_some_and(|version| row.properties.get(VERSION) != Some(version));
        let read = if is_older { self.copy(layout, row).ok() } else { self.as_read(layout, row.properties) };
        let stored = read.as_ref().map_or(row.properties, Properties::as_ref);
        hasher.properties(stored.filter(|(name, _)| self.is_known(layout, name))).finish()
    }

    /// Returns the properties of a copy as the entity in it is written now.
    fn copy(&self, layout: usize, row: RowRef<'_>) -> Result<Properties> {
        let RowKeys { partition_key, row_key } = &self.owner(layout, row)?;
        let own = RowRef { partition_key, row_key, ..row };
        let (encoded, _) = (self.rows)(StoredRow::of_copy(self.info, &own))?;
        Ok(encoded.row(layout, &row.keys()).map(|row| row.properties.clone()).unwrap_or_default())
    }

    /// Reads the entity in a row of its table; `None` if the row belongs to another kind of entity.
    pub fn read(&self, row: Row) -> Result<Option<FoundEntity>> {
        let is_other = self.shape().is_some_and(|shape| !shape.fits(&row.row_key));
        if is_other || event::is_event(&self.layouts[0], &row.row_key) {
            return Ok(None);
        }
        // In a slice, the keys of another program's row may hold no time.
        let table = self.layouts[0].table_of(&row.partition_key, &row.row_key);
        let table = table.unwrap_or_else(|_| self.table().into());
        if let Some(kind) = self.kind()
            && !entity::is_kind(&table, row.as_ref(), kind)?
        {
            return Ok(None);
        }
        let (encoded, unknown) = (self.rows)(StoredRow::new(&table, &row.as_ref()))?;
        let pending = pending(&row);
        Ok(Some(FoundEntity { row, encoded, unknown, pending }))
    }
}

/// Reads the entity in a row.
fn rows_of<E: TableEntity>(row: StoredRow<'_>) -> Result<(Encoded, Unknown)> {
    let ReadEntity { entity, unknown, .. } = row.read::<E>()?;
    Ok((Encoded::unchecked(&entity)?, unknown))
}

/// Returns the attempt of the insert that has not committed the row yet.
pub fn pending(row: &Row) -> Option<Guid> {
    row.properties.get(PENDING).and_then(entity::attempt)
}
