//! States of layouts, as the catalog records them, behind leases.

use super::{
    Tables,
    lease::{Held, Lease},
    record::{Facts, Head, KEY, LayoutId, Record, State},
};
use crate::{
    Error, PropertyType, Result, Row, TableEntity,
    backend::{KeyRange, Partitions, Scan},
    codec::RowReader,
    entity, limits,
    row::RowKeys,
};
use std::ops::Bound;

/// The records of the layouts whose rows are stored in one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct CatalogPage {
    /// The table, in lower case.
    pub(crate) table: String,
    pub(crate) head: Option<crate::Stored<Head>>,
    pub(crate) records: Vec<crate::Stored<Record>>,
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
    /// Returns an error if a migration has moved the entity.
    pub(crate) async fn write_lease(&self, id: &LayoutId) -> Result<Option<Lease>> {
        if !self.leases().has_held(id) {
            return Ok(None);
        }
        match self.state(id).await? {
            Some((State::Ready, lease)) => Ok(lease),
            // The record was removed with its table.
            None => Ok(None),
            Some(_) => Err(self.moved(id).await?),
        }
    }

    /// Returns the lease of a write, or if it has ended one that begins now; `None` if the record was removed with its
    /// table. A migration leaves the place for longer than a lease before it moves the entity, so whoever asks as soon as
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
            Ok(None) => Ok(None),
            Ok(Some(_)) => Err("a migration may have moved the entity meanwhile".to_owned()),
            Err(error) => Err(format!("a migration may have moved the entity meanwhile: {error}")),
        }
    }

    /// Returns the error for an entity that was moved.
    async fn moved(&self, id: &LayoutId) -> Result<Error> {
        let page = self.catalog_page(&id.entity_table.to_ascii_lowercase()).await?;
        let facts = page.primary(id).map(|record| record.facts()).unwrap_or_default();
        let to = facts.moved.map(|place| place.to_string()).unwrap_or_default();
        Ok(Error::EntityMoved { table: id.entity_table.to_owned(), entity: id.entity.to_owned(), to })
    }

    /// Reads the state of a layout, and keeps a lease of it if it is ready; `None` if the layout is not recorded.
    async fn renew(&self, id: &LayoutId) -> Result<Option<(State, Option<Lease>)>> {
        let began = self.backend().clock();
        let known = self.leases().name(id);
        let mut row = self.record_row(id, known.as_deref().unwrap_or(id.entity)).await?;
        if row.is_none() && known.is_none() {
            // The entity may be recorded under an earlier name.
            let page = self.catalog_page(&id.entity_table.to_ascii_lowercase()).await?;
            if let Some(primary) = page.primary(id).filter(|primary| primary.entity != id.entity) {
                self.leases().remember_name(id, &primary.entity);
                row = self.record_row(id, &primary.entity).await?;
            }
        }
        let Some(row) = row else {
            self.leases().forget(id);
            return Ok(None);
        };
        let row = row.as_ref();
        let mut reader = RowReader::new(Record::LAYOUTS[0].table, &row);
        let state = reader.property("State", PropertyType::String, <State as crate::Property>::from_value)?;
        if id.name == KEY {
            let facts =
                reader.property("Facts", PropertyType::String, <Option<String> as crate::Property>::from_value)?;
            self.leases().remember_indexes(id, !Facts::of(facts.as_deref()).indexes.is_empty());
        }
        let lease = (state == State::Ready).then(|| self.leases().keep(*id, row.etag.clone(), began));
        Ok(Some((state, lease)))
    }

    async fn record_row(&self, id: &LayoutId, entity: &str) -> Result<Option<Row>> {
        let (table, RowKeys { partition_key, row_key }) = (Record::LAYOUTS[0].table, id.record_keys(entity)?);
        match self.backend().get(table, &partition_key, &row_key, None).await {
            Err(Error::TableNotFound(_)) => Ok(None),
            row => row,
        }
    }

    /// Reads the records of the layouts whose rows are stored in a table, given its name in lower case. They are empty
    /// if there is no catalog.
    pub(crate) async fn catalog_page(&self, table: &str) -> Result<CatalogPage> {
        let layout = &Record::LAYOUTS[0];
        // The row key of the head is the table, and those of the records continue with the delimiter, a space.
        let rows = KeyRange { from: Bound::Included(table.to_owned()), to: Bound::Excluded(format!("{table}!")) };
        let partitions = Partitions::One(layout.partition_prefix.to_owned());
        let scan =
            Scan { table: layout.table.into(), partitions, rows, filter: None, select: None, page: limits::PAGE };
        let mut page = CatalogPage { table: table.to_owned(), ..CatalogPage::default() };
        let mut from = None;
        loop {
            let read = match self.backend().query(&scan, from.as_ref()).await {
                Err(Error::TableNotFound(_)) => return Ok(page),
                read => read?,
            };
            for row in read.rows.iter() {
                if row.row_key == table {
                    page.head = Some(entity::read::<Head>(layout.table, row)?);
                } else {
                    page.records.push(entity::read::<Record>(layout.table, row)?);
                }
            }
            match read.next {
                Some(next) => from = Some(next),
                None => return Ok(page),
            }
        }
    }
}

impl CatalogPage {
    /// Returns the record of the entity's primary key, under its present name or else under its earlier one.
    pub(crate) fn primary(&self, id: &LayoutId) -> Option<&crate::Stored<Record>> {
        let named = |name: &str| {
            let is_of = |record: &&crate::Stored<Record>| {
                record.name == KEY
                    && record.entity_table.eq_ignore_ascii_case(id.entity_table)
                    && record.facts().names.iter().any(|known| known == name)
            };
            self.records.iter().find(is_of)
        };
        named(id.entity).or_else(|| named(id.was?))
    }
}
