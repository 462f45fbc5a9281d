//! The states of a migration in the catalog.

use std::sync::Mutex;

use table_store::{ETag, Error, Result};

use super::Migration;
use crate::{
    admin::catalog::{CatalogChange, Comparison, EntityRows},
    client::{
        pacing,
        stored::Stored,
        tables::{Catalog, EntityPlace, Lease, ReadRecord, Record, State, Tables, lock},
    },
    write::index::Schema,
};

/// A run of a migration, and its right to write to the new place.
pub(super) struct Switch<'a> {
    pub(super) migration: &'a Migration,
    /// The handle that may write to the new place, under the lease of this run, as long as no other run has begun.
    pub(super) writer: Tables,
    /// The version of the new primary key's record, which this run has written.
    version: ETag,
    lease: Mutex<Lease>,
    /// True if an earlier run may have left rows in the new place.
    pub(super) is_repeated: bool,
    /// The rows of the entities in the old place.
    pub(super) old_rows: EntityRows,
    /// Those in the new place.
    pub(super) new_rows: EntityRows,
}

/// The records of the two primary keys, with those of their tables.
struct Records {
    catalog: Catalog,
    old: Stored<Record>,
    new: Stored<Record>,
}

impl<'a> Switch<'a> {
    /// Begins a run: records both places, and waits until no earlier run writes any more. Returns `None` if the migration
    /// has ended before.
    pub(super) async fn begin(migration: &'a Migration) -> Result<Option<Self>> {
        let Migration { tables, old, new, .. } = migration;
        let (old_id, new_id) = (old.own_id(), new.own_id());
        if old_id.entity == new_id.entity && old_id.table.eq_ignore_ascii_case(new_id.table) {
            let problem = format!(
                "the old and the new struct are both `{}` in this table; a version of a struct reads older rows by `#[table(version = …, \
                 from = …)]`, and needs no migration; for other keys, give the new one another table, with \
                 `#[table(name = \"…\")]`, or another name",
                new_id.entity
            );
            return Err(new.refused(problem));
        }
        if is_done(migration).await? {
            return Ok(None);
        }
        match tables.create_schemas(vec![*old]).await {
            // An earlier run has begun to switch.
            Err(Error::EntityMoved { .. }) => {}
            created => created?,
        }
        tables.create_schemas(vec![*new]).for_migration().await?;
        let mut delays = pacing::delays();
        loop {
            let began = tables.backend().clock();
            let Records { catalog, old: old_record, new: mut new_record } = read(migration).await?;
            check_moved(migration, &old_record)?;
            if new_record.state != State::Building {
                let problem = "programs use the new place already; migrate to a place that was not created yet";
                return Err(new.refused(problem));
            }
            let is_first = new_record.starts == 0;
            new_record.starts = new_record.starts.saturating_add(1);
            let change = CatalogChange { updated: vec![new_record.clone()], ..CatalogChange::default() };
            let Some(changed) = tables.change_catalog(&catalog, change, &mut delays).await? else { continue };
            let Some(version) = changed.records.into_iter().next().flatten() else { continue };
            let writer = tables.for_target(new_id, version.clone());
            writer.leases().remember_name(&new_id, &new_record.entity);
            let new_record = Stored::new(Stored::into_inner(new_record), version.clone());
            let lease = writer.leases().keep(new_id, &new_record, began);
            let (old_rows, new_rows) = (EntityRows::of(*old, &catalog), EntityRows::of(*new, &catalog));
            let (lease, is_repeated) = (Mutex::new(lease), !is_first);
            let switch = Self { migration, writer, version, lease, is_repeated, old_rows, new_rows };
            if !is_first {
                tables.wait_for_leases().await;
                switch.renew().await?;
            }
            return Ok(Some(switch));
        }
    }

    /// Checks that this run may write to the new place. Call it before each write.
    ///
    /// # Errors
    /// Returns an error if another run has begun.
    pub(super) async fn confirm(&self) -> Result<()> {
        let now = self.migration.tables.backend().clock();
        let is_young = |lease: &Lease| lease.is_valid(now) && !lease.is_aging(now);
        if is_young(&lock(&self.lease)) { Ok(()) } else { self.renew().await }
    }

    async fn renew(&self) -> Result<()> {
        let Migration { tables, new, .. } = self.migration;
        let began = tables.backend().clock();
        let catalog = tables.catalog().await?;
        let is_own = |record: &&ReadRecord| *Stored::etag(record) == self.version && record.state == State::Building;
        let Some(record) = catalog.primary(&new.own_id()).filter(is_own) else { return Err(other_run(*new)) };
        *lock(&self.lease) = self.writer.leases().keep(new.own_id(), record, began);
        Ok(())
    }

    /// Closes the old place: records that it is left, and waits until every writer knows.
    pub(super) async fn close(&self) -> Result<()> {
        let Migration { tables, new, .. } = self.migration;
        let mut delays = pacing::delays();
        loop {
            let Records { catalog, mut old, .. } = self.own_records().await?;
            check_moved(self.migration, &old)?;
            if old.state == State::Ready {
                old.state = State::Leaving;
                let mut facts = old.facts();
                facts.moved = Some(place(*new));
                old.set_facts(&facts);
                let change = CatalogChange { updated: vec![old], ..CatalogChange::default() };
                if tables.change_catalog(&catalog, change, &mut delays).await?.is_none() {
                    continue;
                }
            }
            tables.wait_for_leases().await;
            return self.renew().await;
        }
    }

    /// Opens the new place, and ends the migration.
    pub(super) async fn open(&self) -> Result<()> {
        let tables = &self.migration.tables;
        let mut delays = pacing::delays();
        loop {
            let Records { catalog, mut old, mut new } = match self.own_records().await {
                Ok(records) => records,
                // The answer of the last attempt was lost.
                Err(error) => return if is_done(self.migration).await? { Ok(()) } else { Err(error) },
            };
            (old.state, new.state) = (State::Gone, State::Ready);
            let change = CatalogChange { updated: vec![old, new], ..CatalogChange::default() };
            if tables.change_catalog(&catalog, change, &mut delays).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Takes the old place into use again, after the switch failed. If that fails too, the next run continues the switch.
    pub(super) async fn reopen(&self) {
        let tables = &self.migration.tables;
        let mut delays = pacing::delays();
        while let Ok(Records { catalog, mut old, .. }) = self.own_records().await {
            if old.state != State::Leaving {
                return;
            }
            old.state = State::Ready;
            let mut facts = old.facts();
            facts.moved = None;
            old.set_facts(&facts);
            let change = CatalogChange { updated: vec![old], ..CatalogChange::default() };
            if !matches!(tables.change_catalog(&catalog, change, &mut delays).await, Ok(None)) {
                return;
            }
        }
    }

    /// Returns the error of a new place that stays different from the old one.
    pub(super) fn unfinished(&self) -> Error {
        let problem = "the new place differs from the old one after each comparison: a program that did not call `create` \
                       writes to one of them; stop it, and begin again";
        self.migration.new.refused(problem)
    }

    /// Reads the records, and checks that no other run has begun.
    async fn own_records(&self) -> Result<Records> {
        let records = read(self.migration).await?;
        if *Stored::etag(&records.new) == self.version { Ok(records) } else { Err(other_run(self.migration.new)) }
    }
}

fn place(new: Schema) -> EntityPlace {
    EntityPlace { table: new.table().to_ascii_lowercase(), entity: new.entity.to_owned() }
}

fn other_run(new: Schema) -> Error {
    new.refused("another run of this migration has begun; let it end, or begin again")
}

/// Reads the records of both places.
async fn read(migration: &Migration) -> Result<Records> {
    let Migration { tables, old, new, .. } = migration;
    let catalog = tables.catalog().await?;
    let find = |schema: Schema| {
        let record = catalog.primary(&schema.own_id()).map(ReadRecord::to_stored);
        let (table, entity) = (schema.table().to_owned(), schema.entity);
        record.ok_or_else(|| schema.refused(format!("`{entity}` in {table} is not recorded any more")))
    };
    let (old, new) = (find(*old)?, find(*new)?);
    Ok(Records { catalog, old, new })
}

/// Checks whether the migration has ended.
async fn is_done(migration: &Migration) -> Result<bool> {
    let catalog = migration.tables.catalog().await?;
    let Some(old) = catalog.primary(&migration.old.own_id()) else { return Ok(false) };
    check_moved(migration, old)?;
    if old.state != State::Gone {
        return Ok(false);
    }
    if Comparison::new(migration.new, &catalog).has_other_key() {
        let problem = "the entities have been moved to this place with another key; migrate them from there, to a place of \
                       its own";
        return Err(migration.new.refused(problem));
    }
    Ok(true)
}

/// Checks that the old place was not moved to another one than that of this migration.
fn check_moved(migration: &Migration, old: &Record) -> Result<()> {
    match old.facts().moved {
        Some(to) if to != place(migration.new) => {
            let (table, entity) = (migration.old.table().to_owned(), old.entity.clone());
            Err(Error::EntityMoved { table, entity, to: to.to_string() })
        }
        _ => Ok(()),
    }
}
