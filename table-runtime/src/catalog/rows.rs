//! Deletion of the rows of a layout.

use std::collections::BTreeMap;

use crate::{
    Error, Result, RowRef, Tables,
    backend::{Action, BackendExt, BoxFuture, Group, IfMatch, Operation, Scan},
    limits, pacing,
};

/// Deletes the rows of a scan for which the condition holds, in transactions, and returns their number. Calls `report`
/// with the number after each page. A missing table has no rows.
pub(crate) async fn delete_rows(
    tables: &Tables,
    scan: &Scan,
    is_deleted: impl Fn(RowRef<'_>) -> bool + Send + Sync,
    mut report: impl FnMut(usize) + Send,
) -> Result<usize> {
    let (mut from, mut count) = (None, 0);
    loop {
        let page = match tables.backend().query(scan, from.as_ref()).await {
            Err(Error::TableNotFound(_)) => return Ok(count),
            page => page?,
        };
        let mut partitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in page.rows.iter().filter(|row| is_deleted(*row)) {
            partitions.entry(row.partition_key.to_owned()).or_default().push(row.row_key.to_owned());
        }
        let mut deletions: Vec<BoxFuture<'_, Result<()>>> = Vec::new();
        for (partition_key, row_keys) in &partitions {
            for row_keys in row_keys.chunks(limits::OPERATIONS) {
                deletions.push(Box::pin(delete(tables, &scan.table, partition_key, row_keys)));
            }
        }
        pacing::concurrently(deletions).await?;
        count += partitions.values().map(Vec::len).sum::<usize>();
        report(count);
        pacing::yield_now().await;
        match page.next {
            Some(next) => from = Some(next),
            None => return Ok(count),
        }
    }
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
