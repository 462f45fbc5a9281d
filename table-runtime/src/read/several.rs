//! Several rows of one partition, read with one query.

use std::{borrow::Cow, collections::HashMap, ops::Bound};

use table_store::{
    Result, Row, RowRef,
    backend::{BackendExt, KeyRange, Partitions, Scan},
    unstable::{client::Client, order},
};

/// What the first page of a query shows of a row.
pub enum Shown {
    Row(Row),
    /// There is no such row.
    Missing,
    /// The page ends before the row.
    Not,
}

/// Reads the rows with these row keys, and those between them, as far as a page of this size goes. Returns what it shows
/// of each row key.
pub async fn several(
    backend: &Client,
    table: Cow<'static, str>,
    partition_key: &str,
    row_keys: &[&str],
    select: Option<Cow<'static, [&'static str]>>,
    page: u32,
) -> Result<Vec<Shown>> {
    let by_order = |left: &&&str, right: &&&str| order::compare(left, right);
    let (Some(from), Some(to)) = (row_keys.iter().min_by(by_order), row_keys.iter().max_by(by_order)) else {
        return Ok(Vec::new());
    };
    let rows = KeyRange { from: Bound::Included((*from).to_owned()), to: Bound::Included((*to).to_owned()) };
    let partitions = Partitions::One(partition_key.to_owned());
    let scan = Scan { table, partitions, rows, filter: None, select, page };
    // The keys may be too long for one address.
    if scan.check().is_err() {
        return Ok(row_keys.iter().map(|_| Shown::Not).collect());
    }
    let mut found: HashMap<&str, Option<Row>> = row_keys.iter().map(|row_key| (*row_key, None)).collect();
    let mut last = None;
    let mut note = |row: RowRef<'_>| {
        if let Some(found) = found.get_mut(row.row_key) {
            *found = Some(row.to_row());
        }
        last = Some(row.row_key.to_owned());
        Ok(())
    };
    let is_whole = backend.query_with(&scan, None, &mut note).await?.is_none();
    let ends_before = |row_key: &str| last.as_ref().is_none_or(|last| order::compare(last, row_key).is_lt());
    let shown = |row_key: &&str| match found.get(row_key).cloned().flatten() {
        Some(row) => Shown::Row(row),
        None if !is_whole && ends_before(row_key) => Shown::Not,
        None => Shown::Missing,
    };
    Ok(row_keys.iter().map(shown).collect())
}
