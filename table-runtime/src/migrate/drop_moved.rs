//! Deletion of the old rows after a migration.

use std::{fmt, future::IntoFuture};

use crate::{
    Error, Progress, QueryError, Result, RowRef, Stored, TableEntity, Tables,
    backend::{BoxFuture, Scan},
    catalog::{CatalogChange, delete_rows, further_tables, tables_of},
    index::Schema,
    layout::KeyPattern,
    maintenance::{ProgressCallback, all_rows},
    observe::observed,
    pacing, slice_tables,
    tables::{CatalogPage, Record, State},
};

/// The deletion of moved entities, which runs when it is awaited: see [`Tables::drop_moved`].
#[must_use = "nothing is deleted until it is awaited"]
pub struct DropMoved {
    tables: Tables,
    schema: Schema,
    on_progress: ProgressCallback,
}

/// The result of the deletion of moved entities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedEntity {
    /// Number of rows that were deleted one by one, in tables that hold other rows too.
    pub rows: usize,
    /// The tables that were deleted as a whole.
    pub tables: Vec<String>,
}

impl DropMoved {
    /// Reports the progress after each page of rows.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }
}

impl IntoFuture for DropMoved {
    type Output = Result<DroppedEntity>;
    type IntoFuture = BoxFuture<'static, Result<DroppedEntity>>;

    fn into_future(self) -> Self::IntoFuture {
        let running = self.tables.begin_operation(|| self.schema.operation("drop_moved"));
        Box::pin(observed(running, run(self)))
    }
}

impl fmt::Debug for DropMoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropMoved").field("table", &self.schema.table()).finish_non_exhaustive()
    }
}

impl Tables {
    /// Deletes the old rows of entities that [`migrate`](Self::migrate) has moved, and their index rows. Tables that hold
    /// nothing else are deleted as a whole. Await it. It can be stopped and run again.
    ///
    /// The catalog still records that the entity has moved, so that a program with the old struct is refused by
    /// [`create`](Self::create).
    ///
    /// # Errors
    /// Returns [`Error::Query`] if the entity was not moved, and the errors of the store.
    pub fn drop_moved<E: TableEntity>(&self) -> DropMoved {
        DropMoved { tables: self.clone(), schema: Schema::of::<E>(), on_progress: None }
    }
}

async fn run(DropMoved { tables, schema, mut on_progress }: DropMoved) -> Result<DroppedEntity> {
    let (pages, primary) = read(&tables, schema).await?;
    let mut dropped = DroppedEntity::default();
    for (number, layout) in schema.layouts.iter().enumerate() {
        let table = layout.table.to_ascii_lowercase();
        let is_other = |record: &Stored<Record>| {
            !(record.entity_table == primary.entity_table && record.entity == primary.entity || record.facts().dropped)
        };
        let is_shared = pages.iter().filter(|page| page.table == table).flat_map(|page| &page.records).any(is_other);
        let names: Vec<String> = match &layout.slice {
            Some(slice) => {
                let slices = slice_tables::list(slice, &**tables.backend(), layout.table).await?;
                slices.into_iter().map(|slice| slice.table).collect()
            }
            None => vec![layout.table.to_owned()],
        };
        for table in names {
            if !is_shared {
                match tables.backend().delete_table(&table).await {
                    Ok(true) => dropped.tables.push(table),
                    // It was deleted before.
                    Ok(false) | Err(Error::TableBeingDeleted(_)) => {}
                    Err(error) => return Err(error),
                }
                continue;
            }
            let scan = Scan { select: None, ..all_rows(layout, table.into()) };
            let pattern = KeyPattern::of(layout);
            let is_own = |row: RowRef<'_>| {
                pattern.includes(row.partition_key, row.row_key) && (number > 0 || schema.has_entity(row))
            };
            let before = dropped.rows;
            let report = |rows: usize| {
                let progress = Progress { index_rows: before + rows, ..Progress::default() };
                if let Some(report) = &mut on_progress {
                    report(&progress);
                }
            };
            dropped.rows += delete_rows(&tables, &scan, is_own, report).await?;
        }
    }
    forget(&tables, schema).await?;
    Ok(dropped)
}

/// Reads the records of the entity's tables, and that of its primary key.
async fn read(tables: &Tables, schema: Schema) -> Result<(Vec<CatalogPage>, Stored<Record>)> {
    let (entity, id) = (schema.describe(), schema.id(&schema.layouts[0]));
    let mut pages = tables.catalog_pages(&tables_of(&entity)).await?;
    pages.extend(tables.catalog_pages(&further_tables(&pages, &id)).await?);
    let primary = pages.iter().find_map(|page| page.primary(&id)).cloned();
    if let Some(primary) = primary.filter(|primary| primary.state == State::Gone) {
        return Ok((pages, primary));
    }
    let problem = format!("`{}` was not moved; `migrate` moves it", entity.entity);
    Err(Box::new(QueryError { table: schema.table().to_owned(), layout: "key", problem }).into())
}

/// Removes the records of the indexes, and records that the rows are deleted.
async fn forget(tables: &Tables, schema: Schema) -> Result<()> {
    let mut delays = pacing::delays();
    loop {
        let (pages, mut primary) = read(tables, schema).await?;
        let mut facts = primary.facts();
        if facts.dropped {
            return Ok(());
        }
        (facts.dropped, facts.indexes) = (true, [].into());
        primary.set_facts(&facts);
        let is_index = |record: &&Stored<Record>| {
            !record.is_primary() && record.entity_table == primary.entity_table && record.entity == primary.entity
        };
        let removed = pages.iter().flat_map(|page| &page.records).filter(is_index).cloned().collect();
        let change = CatalogChange { updated: vec![primary.clone()], removed, ..CatalogChange::default() };
        if tables.change_catalog(&pages, change).await?.is_some() {
            return Ok(());
        }
        tables.pause_catalog(schema.table(), &mut delays).await?;
    }
}
