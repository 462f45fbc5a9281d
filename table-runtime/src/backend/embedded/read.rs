//! Points and pages, read from a snapshot.

use std::ops::{Bound, RangeBounds};

use super::{failure::store, snapshot::Rows, store_key, store_key::StoreRange, stored_value::StoredValue};
use crate::{
    DamagedProperties, ETag, Error, PropertiesRef, Result, RowId, RowRef,
    backend::{Continuation, KeyRange, Partitions, Reader, Scan},
};

/// How many rows a page looks at, so that a filter that holds for few rows cannot keep a thread for long.
const EXAMINED: usize = 20_000;
/// How many bytes of properties a page has before it ends; one more row may pass it.
const BYTES: usize = 16 * 1024 * 1024;

/// Who finds out that a row's properties are damaged.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Checks {
    /// The store, before it gives the row out.
    Store,
    /// Whoever it is lent to.
    Reader,
}

/// Lends the row at these keys, and says whether there is one.
pub(super) fn get(
    rows: &Rows,
    table: &str,
    partition_key: &str,
    row_key: &str,
    select: Option<&[&str]>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<bool> {
    let Some(value) = rows.get(store_key::encode(partition_key, row_key).as_slice()).map_err(store)? else {
        return Ok(false);
    };
    let damaged = |damage| damaged(table, partition_key, row_key, damage);
    let stored = StoredValue::read(value.value()).map_err(damaged)?;
    let mut kept = Vec::new();
    let properties = properties(stored, select, checks, &mut kept).map_err(damaged)?;
    let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
    read(RowRef { partition_key, row_key, properties, etag, timestamp })?;
    Ok(true)
}

/// Lends the rows of one page of a scan, and says where it goes on.
pub(super) fn page(
    rows: &Rows,
    scan: &Scan,
    from: Option<&Continuation>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<Option<Continuation>> {
    let range = StoreRange::new(scan, from);
    let Some(bounds) = range.bounds() else { return Ok(None) };
    // A range of row keys narrows one partition; of several it has to be compared row by row.
    let compared = !matches!(scan.partitions, Partitions::One(_)) && scan.rows != KeyRange::ALL;
    let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).max(1);
    let mut stored_rows = rows.range::<&[u8]>(bounds).map_err(store)?;
    let mut kept = Vec::new();
    let (mut given, mut examined, mut bytes) = (0, 0, 0);
    while let Some(row) = stored_rows.next() {
        // The guards of the two are large, and stay where they are.
        let (key, value) = match row {
            Ok(ref row) => (row.0.value(), row.1.value()),
            Err(error) => return Err(store(error)),
        };
        let (partition_key, row_key) = range.decode(key).ok_or_else(|| {
            let (partition_key, row_key) = (String::from_utf8_lossy(key), String::new());
            damaged(&scan.table, &partition_key, &row_key, DamagedProperties)
        })?;
        examined += 1;
        if !compared || within(&scan.rows, &row_key) {
            let damaged = |damage| damaged(&scan.table, &partition_key, &row_key, damage);
            let stored = StoredValue::read(value).map_err(damaged)?;
            let holds = match &scan.filter {
                // What it does not find in a damaged row, it must not take for missing.
                Some(filter) => filter.holds(stored.properties().map_err(damaged)?),
                None => true,
            };
            if holds {
                let properties = properties(stored, scan.select.as_deref(), checks, &mut kept).map_err(damaged)?;
                given += 1;
                bytes += properties.as_bytes().len();
                let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
                read(RowRef { partition_key: &partition_key, row_key: &row_key, properties, etag, timestamp })?;
            }
        }
        if given == limit || bytes >= BYTES || examined == EXAMINED {
            // Looking one row further spares the caller an empty last page.
            if stored_rows.next().transpose().map_err(store)?.is_some() {
                let (partition_key, row_key) = (partition_key.into_owned(), Some(row_key.into_owned()));
                return Ok(Some(Continuation { partition_key, row_key }));
            }
            break;
        }
    }
    Ok(None)
}

/// All properties or those selected.
fn properties<'a>(
    stored: StoredValue<'a>,
    select: Option<&[&str]>,
    checks: Checks,
    kept: &'a mut Vec<u8>,
) -> Result<PropertiesRef<'a>, DamagedProperties> {
    match (select, checks) {
        (Some(names), _) => stored.select(names, kept),
        (None, Checks::Store) => stored.properties(),
        (None, Checks::Reader) => Ok(stored.unread()),
    }
}

fn within(range: &KeyRange, row_key: &str) -> bool {
    let key = |key: &String| store_key::encode("", key);
    let bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>) = (range.from.as_ref().map(key), range.to.as_ref().map(key));
    bounds.contains(&store_key::encode("", row_key))
}

pub(super) fn damaged(table: &str, partition_key: &str, row_key: &str, damage: DamagedProperties) -> Error {
    let row = RowId { table: table.to_owned(), partition_key: partition_key.to_owned(), row_key: row_key.to_owned() };
    Error::Damaged { row: Box::new(row), damage }
}
