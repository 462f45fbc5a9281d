//! Deletion of the old rows after a migration.

use std::collections::BTreeSet;

use table_model::{
    LayoutInfo, TableEntity,
    unstable::layout::{KeyPattern, LayoutExt},
};
use table_store::{
    Error, Result, RowRef,
    backend::{BackendExt, Scan},
    unstable::observe::Running,
};

use crate::{
    admin::{
        catalog::{CatalogChange, EntityRows, delete_rows, has_rows, recorded_rows},
        jobs::{Discarding, EventTables, Job, JobKind, JobOptions, Progress, event_sections},
        scan::Section,
        slices::has_event,
    },
    client::{
        pacing,
        tables::{Catalog, ReadRecord, State, Tables},
    },
    relay::EventSource,
    write::index::Schema,
};

/// The deletion of moved entities: see [`Tables::drop_moved`].
#[derive(Debug)]
pub struct DropMoved {
    tables: Tables,
    schema: Schema,
    discards_events: bool,
}

impl Discarding for DropMoved {
    fn discard_events(&mut self) {
        self.discards_events = true;
    }
}

/// The result of the deletion of moved entities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedEntity {
    /// Number of rows that were deleted.
    pub rows: usize,
    /// The tables that were deleted because no row was left in them, and no other entity is recorded there.
    pub tables: Vec<String>,
}

impl JobKind for DropMoved {
    type Done = DroppedEntity;
    type Error = table_store::Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.tables.begin_operation(|| self.schema.operation("drop_moved"))
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<DroppedEntity> {
        let DropMoved { tables, schema, discards_events } = self;
        let (catalog, primary) = read(&tables, schema).await?;
        let mut dropped = DroppedEntity::default();
        // Others may use the place since.
        if primary.facts.dropped {
            return Ok(dropped);
        }
        let entities = EntityRows::of(schema, &catalog);
        let (mut left, mut sections, mut patterns) = (BTreeSet::new(), Vec::new(), Vec::new());
        for record in [&primary].into_iter().chain(catalog.indexes(&primary)) {
            let layout = &record.layout;
            // The kind of a row is one of its properties.
            let select = if record.is_primary() { None } else { Some([].as_slice().into()) };
            for table in tables_of(&tables, layout).await? {
                let scan = Scan { table: table.clone().into(), select: select.clone(), ..recorded_rows(layout) };
                sections.push(Section { layout: patterns.len(), scan, is_slice: true });
                left.insert(table);
            }
            patterns.push((record.is_primary(), KeyPattern::of(layout)));
        }
        if let Some(source) = EventSource::recorded(&tables, &primary) {
            let own = tables_of(&tables, &primary.layout).await?;
            for table in own.iter().filter(|_| !discards_events) {
                if let Some(event) = source.find(table).await? {
                    return Err(schema.refused(has_event(&event)));
                }
            }
            // An earlier run may have deleted some of them.
            let (marks, events) = (source.all_marks(), EventTables { source, tables: own });
            sections.extend(event_sections(&[events], patterns.len()));
            sections.push(Section { layout: usize::MAX, scan: marks, is_slice: true });
        }
        let is_own = |layout: usize, row: RowRef<'_>| {
            // The sections after these have nothing but events and marks.
            patterns.get(layout).is_none_or(|(is_primary, pattern)| {
                pattern.includes(row.partition_key, row.row_key) && (!is_primary || entities.has(row))
            })
        };
        let scan = options.scan(tables.backend(), sections);
        let report = |rows| options.report(|| Progress { index_rows: rows, ..Progress::default() });
        dropped.rows = delete_rows(&tables, scan, is_own, report).await?;
        for table in reserve(&tables, schema, left).await? {
            if has_rows(&tables, &table).await? {
                continue;
            }
            match tables.backend().delete_table(&table).await {
                Ok(true) => dropped.tables.push(table),
                // It was deleted before.
                Ok(false) | Err(Error::TableBeingDeleted(_)) => {}
                Err(error) => return Err(error),
            }
        }
        forget(&tables, schema).await?;
        Ok(dropped)
    }
}

impl Tables {
    /// Deletes the old rows of entities that [`migrate`](Self::migrate) has moved, and their index rows, in transactions of
    /// up to 100. Then it deletes the tables that have no row left, and in which no other entity is recorded. While it deletes
    /// them, [`create`](Self::create) of another entity there is [`Error::TableBeingDeleted`]. Await it. It can be stopped
    /// and run again.
    ///
    /// The catalog still records that the entity has moved, so that a program with the old struct is refused by
    /// [`create`](Self::create). From now on, entities can be moved back to the place.
    ///
    /// [Events](crate::guide::events) that no relay has delivered, and those that were put aside, are an error. A relay of the old
    /// struct delivers them; [`discarding_events`](Job::discarding_events) deletes them.
    ///
    /// # Errors
    /// Returns [`Error::Query`] if the entity was not moved, or if it has events; and the errors of the store.
    pub fn drop_moved<'a, E: TableEntity>(&self) -> Job<'a, DropMoved> {
        Job::new(DropMoved { tables: self.clone(), schema: Schema::of::<E>(), discards_events: false })
    }
}

/// Returns the tables of a recorded layout: one, or its slices.
async fn tables_of(tables: &Tables, layout: &LayoutInfo) -> Result<Vec<String>> {
    if !layout.is_sliced() {
        return Ok(vec![layout.table.to_string()]);
    }
    let mut names = tables.backend().list_tables(&layout.table).await?;
    names.retain(|name| layout.has_table_of_any_unit(name));
    names.sort();
    Ok(names)
}

/// Records which of these tables are being deleted, so that no program begins to use them, and returns them: those in
/// which no other entity is recorded.
async fn reserve(tables: &Tables, schema: Schema, mut names: BTreeSet<String>) -> Result<BTreeSet<String>> {
    let mut delays = pacing::delays();
    loop {
        let (catalog, primary) = read(tables, schema).await?;
        let is_other = |record: &&ReadRecord| !record.is_of_entity(&primary) && !record.facts.dropped;
        for record in catalog.records.iter().filter(is_other) {
            names.retain(|name| !record.layout.has_table_of_any_unit(name));
        }
        let mut facts = primary.facts.clone();
        if names.is_empty() || names == facts.dropping {
            return Ok(names);
        }
        facts.dropping.clone_from(&names);
        let mut record = primary.to_stored();
        record.set_facts(&facts);
        let change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
        if tables.change_catalog(&catalog, change, &mut delays).await?.is_some() {
            return Ok(names);
        }
    }
}

/// Reads the catalog, and the record of the entity's primary key in it.
async fn read(tables: &Tables, schema: Schema) -> Result<(Catalog, ReadRecord)> {
    let catalog = tables.catalog().await?;
    let primary = catalog.primary(&schema.own_id()).filter(|primary| primary.state == State::Gone);
    if let Some(primary) = primary.cloned() {
        return Ok((catalog, primary));
    }
    let problem = format!("`{}` was not moved; `migrate` moves it", schema.entity);
    Err(schema.refused(problem))
}

/// Removes the records of the indexes, and records that the rows are deleted.
async fn forget(tables: &Tables, schema: Schema) -> Result<()> {
    let mut delays = pacing::delays();
    loop {
        let (catalog, primary) = read(tables, schema).await?;
        let mut facts = primary.facts.clone();
        if facts.dropped {
            return Ok(());
        }
        facts.dropped = true;
        facts.indexes.clear();
        facts.dropping.clear();
        let mut record = primary.to_stored();
        record.set_facts(&facts);
        let removed = catalog.indexes(&primary).map(ReadRecord::to_stored).collect();
        let change = CatalogChange { updated: vec![record], removed, ..CatalogChange::default() };
        if tables.change_catalog(&catalog, change, &mut delays).await?.is_some() {
            return Ok(());
        }
    }
}
