//! Points and pages, read from a snapshot.

use std::ops::{Bound, RangeBounds};

use super::{failure::store, snapshot::Rows, store_key, store_key::StoreRange, stored_value::StoredValue};
use crate::{
    DamagedProperties, ETag, Error, PropertiesRef, Result, Row, RowId, RowRef,
    backend::{Continuation, KeyRange, Page, Partitions, Scan},
};

/// How many rows a page looks at, so that a filter that holds for few rows cannot keep a thread for long.
const EXAMINED: usize = 20_000;
/// For how many rows a page makes room at first; longer ones grow.
const ROOM: usize = 128;
/// How many bytes of properties a page has before it ends; one more row may pass it.
const BYTES: usize = 16 * 1024 * 1024;

/// The row at these keys.
pub(super) fn get(
    rows: &Rows,
    table: &str,
    partition_key: &str,
    row_key: &str,
    select: Option<&[&str]>,
) -> Result<Option<Row>> {
    let Some(value) = rows.get(store_key::encode(partition_key, row_key).as_slice()).map_err(store)? else {
        return Ok(None);
    };
    let read = || {
        let stored = StoredValue::read(value.value())?;
        let mut kept = Vec::new();
        let properties = properties(stored, select, &mut kept)?.to_properties();
        Ok((stored.timestamp, properties))
    };
    let (timestamp, properties) = read().map_err(|damage| damaged(table, partition_key, row_key, damage))?;
    Ok(Some(Row {
        partition_key: partition_key.to_owned(),
        row_key: row_key.to_owned(),
        properties,
        etag: timestamp.into(),
        timestamp,
    }))
}

/// One page of a scan.
pub(super) fn page(rows: &Rows, scan: &Scan, from: Option<&Continuation>) -> Result<Page> {
    let range = StoreRange::new(scan, from);
    let Some(bounds) = range.bounds() else { return Ok(Page::default()) };
    // A range of row keys narrows one partition; of several it has to be compared row by row.
    let compared = !matches!(scan.partitions, Partitions::One(_)) && scan.rows != KeyRange::ALL;
    let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).max(1);
    let mut stored_rows = rows.range::<&[u8]>(bounds).map_err(store)?;
    let mut page = Page::default();
    let mut kept = Vec::new();
    let (mut examined, mut bytes) = (0, 0);
    while let Some(row) = stored_rows.next() {
        let (key, value) = row.map_err(store)?;
        let key = key.value();
        let (partition_key, row_key) = range.decode(key).ok_or_else(|| {
            let (partition_key, row_key) = (String::from_utf8_lossy(key), String::new());
            damaged(&scan.table, &partition_key, &row_key, DamagedProperties)
        })?;
        examined += 1;
        let damaged = |damage| damaged(&scan.table, &partition_key, &row_key, damage);
        let stored = StoredValue::read(value.value()).map_err(damaged)?;
        let holds = (!compared || within(&scan.rows, &row_key))
            && scan.filter.as_ref().is_none_or(|filter| filter.holds(stored.unread()));
        if holds {
            let properties = properties(stored, scan.select.as_deref(), &mut kept).map_err(damaged)?;
            bytes += properties.as_bytes().len();
            let row = RowRef {
                partition_key: &partition_key,
                row_key: &row_key,
                properties,
                etag: &ETag::from(stored.timestamp),
                timestamp: stored.timestamp,
            };
            if page.rows.is_empty() {
                page.rows.reserve_like(row, limit.min(ROOM));
            }
            page.rows.push(row);
        }
        if page.rows.len() == limit || bytes >= BYTES || examined == EXAMINED {
            // Looking one row further spares the caller an empty last page.
            if stored_rows.next().transpose().map_err(store)?.is_some() {
                page.next = Some(Continuation {
                    partition_key: partition_key.into_owned(),
                    row_key: Some(row_key.into_owned()),
                });
            }
            break;
        }
    }
    Ok(page)
}

/// All properties or those selected, read through.
fn properties<'a>(
    stored: StoredValue<'a>,
    select: Option<&[&str]>,
    kept: &'a mut Vec<u8>,
) -> Result<PropertiesRef<'a>, DamagedProperties> {
    match select {
        Some(names) => stored.select(names, kept),
        None => stored.properties(),
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
