//! Rows of tables: whether there are any, to which entity they belong, and their deletion.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use table_model::unstable::{entity, event};
use table_store::{
    Error, Result, RowRef,
    backend::{Action, BackendExt, BoxFuture, Group, IfMatch, Operation, Scan},
    unstable::{ScanProgress, limits},
};

use crate::{
    admin::scan::{ScannedPage, SideBySide},
    client::{
        pacing,
        tables::{Catalog, Tables},
    },
    write::index::Schema,
};

/// The rows of an entity in its table, which other entities may share.
pub struct EntityRows {
    schema: Schema,
    /// Partition keys of others.
    others: BTreeSet<String>,
}

impl EntityRows {
    pub fn of(schema: Schema, catalog: &Catalog) -> Self {
        let primary = &schema.layouts[0];
        Self { schema, others: catalog.constant_partitions(&schema.id(primary), primary) }
    }

    /// Checks whether a row of the table has the shape and the kind of the entity, and is in no partition of another one.
    pub fn has(&self, row: RowRef<'_>) -> bool {
        let (shape, kind) = (self.schema.shape(), self.schema.kind());
        !event::is_event(&self.schema.layouts[0], row.row_key)
            && shape.is_none_or(|shape| shape.fits(row.row_key))
            && kind.is_none_or(|kind| !matches!(entity::is_kind(self.schema.table(), row, kind), Ok(false)))
            && !self.others.contains(row.partition_key)
    }
}

/// Checks whether a table exists, by a read of its first row, and if it is not found, by the list of all tables.
pub async fn has_table(tables: &Tables, table: &str) -> Result<bool> {
    match tables.backend().query(&first_row(table), None).await {
        // Azurite does not find the rows of a table whose name has another case, and does not create a second table.
        Err(Error::TableNotFound(_)) => {
            let names = tables.backend().list_tables("").await?;
            Ok(names.iter().any(|name| name.eq_ignore_ascii_case(table)))
        }
        page => page.map(|_| true),
    }
}

/// Checks whether a table has a row. A missing table has none.
pub async fn has_rows(tables: &Tables, table: &str) -> Result<bool> {
    let (scan, mut progress) = (first_row(table), ScanProgress::default());
    while !progress.has_ended() {
        let rows = match tables.backend().next_page(&scan, &mut progress).await {
            Err(Error::TableNotFound(_)) => return Ok(false),
            rows => rows?,
        };
        if !rows.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn first_row(table: &str) -> Scan {
    Scan { select: Some([].as_slice().into()), page: 1, ..Scan::all(table.to_owned()) }
}

/// Deletes the rows of a scan for which the condition holds, in transactions, and returns their number. Calls `report`
/// with the number after each page.
pub async fn delete_rows(
    tables: &Tables,
    mut scan: SideBySide,
    is_deleted: impl Fn(usize, RowRef<'_>) -> bool + Send + Sync,
    mut report: impl FnMut(usize),
) -> Result<usize> {
    let mut count = 0;
    let work = |page: ScannedPage| -> BoxFuture<'_, _> {
        let is_deleted = &is_deleted;
        Box::pin(async move {
            let mut partitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for row in page.rows().filter(|row| is_deleted(page.layout, *row)) {
                partitions.entry(row.partition_key.to_owned()).or_default().push(row.row_key.to_owned());
            }
            let mut deletions: Vec<BoxFuture<'_, Result<()>>> = Vec::new();
            for (partition_key, row_keys) in &partitions {
                for row_keys in row_keys.chunks(limits::OPERATIONS) {
                    deletions.push(Box::pin(delete(tables, &page.table, partition_key, row_keys)));
                }
            }
            pacing::concurrently(deletions).await?;
            Ok(partitions.values().map(Vec::len).sum::<usize>())
        })
    };
    let done = |_: &SideBySide, deleted: usize| {
        count += deleted;
        report(count);
        ControlFlow::Continue(())
    };
    scan.each(&work, done).await?;
    Ok(count)
}

/// Deletes rows of one partition. A row that is missing was deleted by another program, or by a request whose answer was
/// lost.
async fn delete(tables: &Tables, table: &str, partition_key: &str, row_keys: &[String]) -> Result<()> {
    let group = |row_keys: &[String]| {
        let deletion = |row_key: &String| Operation { row_key: row_key.clone(), action: Action::Delete(IfMatch::Any) };
        let operations = row_keys.iter().map(deletion).collect();
        Group { table: table.to_owned().into(), partition_key: partition_key.to_owned(), operations }
    };
    match tables.backend().execute(&group(row_keys)).await {
        Ok(_) => return Ok(()),
        Err(Error::NotFound(_) | Error::OutcomeUnknown(_)) => {}
        Err(error) => return Err(error),
    }
    for row_key in row_keys {
        let mut delays = pacing::delays();
        loop {
            match tables.backend().execute(&group(std::slice::from_ref(row_key))).await {
                Ok(_) | Err(Error::NotFound(_)) => break,
                Err(lost @ Error::OutcomeUnknown(_)) => pacing::wait(tables.backend(), &mut delays, lost).await?,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
