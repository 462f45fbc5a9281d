//! States of layouts, as the catalog records them, behind leases.

use std::{collections::BTreeSet, ops::Deref};

use table_model::{LayoutInfo, TableEntity, unstable::layout::ReadLayout};
use table_store::{
    ETag, Error, Result, RowRef,
    backend::{BackendExt, Partitions, Scan},
    error::LayoutChangedError,
    unstable::RowKeys,
};

use super::{
    Tables,
    lease::{Held, Lease},
    record::{FORMAT, Facts, Head, KEY, LayoutId, Record, State},
};
use crate::client::stored::{self, Stored};

/// A record, with its layout and its facts as values.
#[derive(Clone, Debug)]
pub(crate) struct ReadRecord {
    stored: Stored<Record>,
    /// The layout. If it is damaged, only its name and its table are known.
    pub layout: LayoutInfo,
    /// False if the record is damaged, or if the place of the rows is all that is known of an index.
    pub is_readable: bool,
    /// False if the record is damaged, or if a newer version of this crate has written what this one does not know.
    pub is_known: bool,
    pub facts: Facts,
}

impl Deref for ReadRecord {
    type Target = Stored<Record>;

    fn deref(&self) -> &Self::Target {
        &self.stored
    }
}

impl ReadRecord {
    /// Returns a copy of the stored record, to be changed.
    pub fn to_stored(&self) -> Stored<Record> {
        self.stored.clone()
    }
}

impl From<Stored<Record>> for ReadRecord {
    fn from(stored: Stored<Record>) -> Self {
        let unreadable = || {
            let (name, table) = (stored.name.clone().into(), stored.table.clone().into());
            let layout = LayoutInfo { name, table, ..LayoutInfo::default() };
            ReadLayout { layout, is_readable: false, is_known: false }
        };
        let ReadLayout { layout, is_readable, is_known } = stored.layout().unwrap_or_else(unreadable);
        let facts = stored.facts();
        Self { stored, layout, is_readable, is_known, facts }
    }
}

/// The catalog as it was read.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// `None` in a new catalog.
    pub head: Option<Stored<Head>>,
    pub records: Vec<ReadRecord>,
}

impl Tables {
    /// Returns a lease of an index that is ready. It takes a request if the handle holds no valid lease, and one in the
    /// second half of a lease.
    ///
    /// # Errors
    /// Returns an error if the index is not ready, or is not recorded.
    pub(crate) async fn lease(&self, id: &LayoutId) -> Result<Lease> {
        let (table, index) = (id.entity_table.to_owned(), id.name.to_owned());
        match self.state(id).await? {
            Some((State::Ready, Some(lease))) => Ok(lease),
            Some((State::Gone, _)) => Err(Error::IndexDropped { table, index }),
            Some(_) => Err(Error::IndexBuilding { table, index }),
            // The table may have had rows before the index was added.
            None => Err(Error::IndexNotRecorded { table, index }),
        }
    }

    /// Checks whether the index is recorded as ready.
    pub(crate) async fn has_ready_index(&self, id: &LayoutId) -> Result<bool> {
        Ok(matches!(self.state(id).await?, Some((State::Ready, _))))
    }

    /// Returns the state of a layout, with a lease of it if it is ready; `None` if the layout is not recorded. It takes
    /// no request while the handle holds a valid lease, except for a renewal.
    async fn state(&self, id: &LayoutId) -> Result<Option<(State, Option<Lease>)>> {
        match self.leases().held(id, self.backend().clock()) {
            Held::Valid(lease) => Ok(Some((State::Ready, Some(lease)))),
            Held::Aging(lease, _turn) => match self.renew(id).await {
                // The lease is valid all the same. The next caller tries again.
                Err(_) if lease.is_valid(self.backend().clock()) => Ok(Some((State::Ready, Some(lease)))),
                renewed => renewed,
            },
            Held::Nothing => self.renew(id).await,
        }
    }

    /// Checks that the index was ready, without a gap, from the moment at which the caller got the lease until now. Call
    /// it after the last row of the index was read.
    ///
    /// # Errors
    /// Returns an error if the index was not ready meanwhile, so that the caller may have missed rows.
    pub(crate) async fn confirm(&self, id: &LayoutId, lease: &Lease) -> Result<()> {
        if lease.is_valid(self.backend().clock()) {
            return Ok(());
        }
        match self.renew(id).await? {
            // Each change of the state changes the version of its record.
            Some((State::Ready, Some(now))) if now.version == lease.version => Ok(()),
            _ => Err(Error::IndexBuilding { table: id.entity_table.to_owned(), index: id.name.to_owned() }),
        }
    }

    /// Returns the lease under which the entity of this primary key may be written; `None` if the handle did not call
    /// `create`, and so knows nothing about the entity.
    ///
    /// # Errors
    /// Returns an error if a migration has moved the entity, and if the record was removed with its table.
    pub(crate) async fn write_lease(&self, id: &LayoutId) -> Result<Option<Lease>> {
        if !self.leases().has_held(id) {
            return Ok(None);
        }
        match self.state(id).await? {
            Some((State::Ready, lease)) => Ok(lease),
            _ => Err(self.moved(id).await?),
        }
    }

    /// Returns the lease of a write, or if it has ended one that begins now. A migration leaves the place for longer than a lease before it moves the entity, so whoever asks as soon as
    /// the lease has ended notices it.
    ///
    /// # Errors
    /// Returns the reason why there is none.
    pub(crate) async fn renewed(&self, id: &LayoutId, lease: &Lease) -> Result<Option<Lease>, String> {
        if lease.is_valid(self.backend().clock()) {
            return Ok(Some(lease.clone()));
        }
        match self.renew(id).await {
            Ok(Some((State::Ready, lease))) => Ok(lease),
            Ok(_) => Err("a migration may have moved the entity meanwhile".to_owned()),
            Err(error) => Err(format!("a migration may have moved the entity meanwhile: {error}")),
        }
    }

    /// Returns the error for an entity on whose record the handle may not rely any more.
    async fn moved(&self, id: &LayoutId) -> Result<Error> {
        let catalog = self.catalog().await?;
        let (table, entity) = (id.entity_table.to_owned(), id.entity.to_owned());
        let Some(record) = catalog.primary(id) else {
            let changes = "it is not recorded any more, because its table was deleted".to_owned();
            let advice = "call `create` again, or end this program".to_owned();
            return Ok(Box::new(LayoutChangedError::new(table, entity, KEY, changes, advice)).into());
        };
        let facts = record.facts.clone();
        // A run of a migration that was overtaken finds its place open, or that of another run.
        let is_target = self.leases().is_target(id, Stored::etag(record)).is_some();
        if record.state == State::Building || is_target {
            return Ok(Error::EntityMigrating { table, entity });
        }
        let to = facts.moved.map(|place| place.to_string()).unwrap_or_default();
        Ok(Error::EntityMoved { table, entity, to })
    }

    /// Reads the state of a layout, and keeps a lease of it if it is ready; `None` if the layout is not recorded.
    async fn renew(&self, id: &LayoutId) -> Result<Option<(State, Option<Lease>)>> {
        let began = self.backend().clock();
        let known = self.leases().name(id);
        let mut record = self.record(id, known.as_deref().unwrap_or(id.entity)).await?;
        if record.is_none() {
            // The entity may be recorded under another of its names.
            let catalog = self.catalog().await?;
            let name = catalog.primary(id).map(|primary| &primary.entity);
            if let Some(name) = name.filter(|name| **name != known.as_deref().unwrap_or(id.entity)) {
                self.leases().remember_name(id, name);
                record = self.record(id, name).await?;
            }
        }
        let Some(record) = record else { return Ok(None) };
        if self.leases().is_replaced(id, &record) {
            return Ok(Some((State::Gone, None)));
        }
        Ok(Some(match (self.leases().is_target(id, Stored::etag(&record)), record.state) {
            (Some(true), _) | (None, State::Ready) => (State::Ready, Some(self.leases().keep(*id, &record, began))),
            // A run that was overtaken must not write to the place that another one has opened.
            (Some(false), State::Ready) => (State::Building, None),
            (_, state) => (state, None),
        }))
    }

    /// Reads the record of a layout of the entity that is recorded under this name.
    async fn record(&self, id: &LayoutId, entity: &str) -> Result<Option<Stored<Record>>> {
        let (table, RowKeys { partition_key, row_key }) = (&*Record::INFO.layouts[0].table, id.record_keys(entity)?);
        match self.backend().get(table, &partition_key, &row_key, None).await {
            Err(Error::TableNotFound(_)) | Ok(None) => Ok(None),
            Ok(Some(row)) => stored::read(table, row.as_ref()).map(Some),
            Err(error) => Err(error),
        }
    }

    /// Reads the catalog: a request for each 1000 records. It is empty if there is none.
    ///
    /// # Errors
    /// Returns [`Error::NewerCatalog`] if a newer version of this crate has written it.
    pub(crate) async fn catalog(&self) -> Result<Catalog> {
        let (layout, head_key) = (&Record::INFO.layouts[0], &*Head::INFO.layouts[0].row_prefix);
        let partitions = Partitions::One(layout.partition_prefix.to_string());
        let (scan, mut catalog) = (Scan { partitions, ..Scan::all(layout.table.clone()) }, Catalog::default());
        let read = |row: RowRef<'_>| {
            if row.row_key != head_key {
                catalog.records.push(stored::read::<Record>(&layout.table, row)?.into());
                return Ok(());
            }
            let head = stored::read::<Head>(&layout.table, row)?;
            if head.format > FORMAT {
                return Err(Error::NewerCatalog { found: head.format, known: FORMAT });
            }
            catalog.head = Some(head);
            Ok(())
        };
        match self.backend().read_all(&scan, read).await {
            Ok(()) | Err(Error::TableNotFound(_)) => Ok(catalog),
            Err(error) => Err(error),
        }
    }

    /// Checks that the catalog's head still has this version; `None` if there was no catalog.
    pub(crate) async fn is_present(&self, version: Option<&ETag>) -> Result<bool> {
        let (layout, keys) = (&Head::INFO.layouts[0], Head::keys_of());
        let head = self.backend().get(&layout.table, &keys.partition_key, &keys.row_key, Some(&[])).await;
        let head = match head {
            Err(Error::TableNotFound(_)) => None,
            head => head?,
        };
        Ok(head.as_ref().map(|head| &head.etag) == version)
    }
}

impl Catalog {
    /// Returns the version of the head; `None` in a new catalog.
    pub fn version(&self) -> Option<&ETag> {
        self.head.as_ref().map(Stored::etag)
    }

    /// Checks whether the last change announced a look at the tables.
    pub fn is_looking(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.looking == Some(true))
    }

    /// Returns the record of the entity's primary key, under its present name or else under its earlier one.
    pub fn primary(&self, id: &LayoutId) -> Option<&ReadRecord> {
        let named = |name: &str| {
            let is_of = |record: &&ReadRecord| {
                record.is_primary()
                    && record.is_of_table(id.entity_table)
                    && record.facts.names.iter().any(|known| known == name)
            };
            self.records.iter().find(is_of)
        };
        named(id.entity).or_else(|| named(id.was?))
    }

    /// Returns the constant partition keys of other entities in the table. Their rows differ by them from those of an
    /// entity whose partition key has parts.
    pub fn constant_partitions(&self, id: &LayoutId, own: &LayoutInfo) -> BTreeSet<String> {
        if own.partition.is_empty() {
            return BTreeSet::new();
        }
        let own = self.primary(id).map(|record| record.entity.as_str());
        let others = self.records.iter().filter(|record| {
            record.is_primary() && record.is_of_table(id.entity_table) && Some(record.entity.as_str()) != own
        });
        let layouts = others.filter(|record| record.is_readable).map(|record| &record.layout);
        layouts.filter(|layout| layout.partition.is_empty()).map(|layout| layout.partition_prefix.to_string()).collect()
    }

    /// Returns the record of an index of the entity that has this primary key.
    pub fn index<'a>(&'a self, primary: &'a Record, name: &str) -> Option<&'a ReadRecord> {
        self.indexes(primary).find(|record| record.name == name)
    }

    /// Returns the records of the indexes of the entity that has this primary key.
    pub fn indexes<'a>(&'a self, primary: &'a Record) -> impl Iterator<Item = &'a ReadRecord> {
        self.records.iter().filter(|record| !record.is_primary() && record.is_of_entity(primary))
    }
}
