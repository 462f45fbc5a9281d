//! Reads of single rows and of pages, from a snapshot.

use std::ops::{Bound, RangeBounds};

use redb::{AccessGuard, ReadableTable};

use super::{
    failure::{StoreError, engine, store},
    snapshot::RowTable,
    store_key,
    store_key::{KeySpace, StoreRange},
    stored_value::StoredValue,
};
use crate::{
    DamagedProperties, ETag, Error, PropertiesRef, Result, RowId, RowRef,
    backend::{Continuation, KeyRange, Partitions, Reader, Scan},
};

/// Maximum number of rows that a page examines, so that a filter that holds for few rows cannot occupy a thread for
/// long.
const EXAMINED: usize = 20_000;
/// Number of bytes of properties after which a page ends. The last row may exceed it.
const BYTES: usize = 16 * 1024 * 1024;

/// The party that detects damage to a row's properties.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Checks {
    /// The store, before it passes the row to the caller.
    Store,
    /// The caller's `read`, which gets the row by reference.
    Reader,
}

/// Calls `read` with the row at these keys. Returns false if there is no such row.
pub(super) fn get(
    rows: &RowTable,
    table: &str,
    partition_key: &str,
    row_key: &str,
    select: Option<&[&str]>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<bool> {
    let mut space = KeySpace::new();
    let key = space.encode(partition_key, row_key);
    // A damaged page may give a wrong position of the value. An access to the value then panics, so the first access is
    // inside `engine`.
    let value = engine(|| rows.get(key).inspect(|value| _ = value.as_ref().map(AccessGuard::value)))?;
    let Some(value) = value.map_err(store)? else {
        return match check_gap(rows, table, Bound::Included(key))? {
            // The range search found the key, but the search for the key did not, so the row is damaged.
            Some(next) if next.value() == key => Err(damaged_at(table, key)),
            _ => Ok(false),
        };
    };
    let damaged = |damage| damaged(table, partition_key, row_key, damage);
    let stored = StoredValue::read(key, value.value()).map_err(damaged)?;
    let mut kept = Vec::new();
    let properties = properties(stored, select, checks, &mut kept).map_err(damaged)?;
    let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
    read(RowRef { partition_key, row_key, properties, etag, timestamp })?;
    Ok(true)
}

/// Checks the rows before and after the position where a search ended. A damaged key may have led the search to a wrong
/// position. Then either the damaged key is next to that position, or what was searched for does not belong between the
/// two rows. Returns the key after the position.
fn check_gap<'r>(
    rows: &'r RowTable,
    table: &str,
    place: Bound<&[u8]>,
) -> Result<Option<AccessGuard<'r, &'static [u8]>>> {
    let mut cursor = engine(|| rows.lower_bound(place))?.map_err(store)?;
    let mut next = None;
    for is_before in [true, false] {
        let row = engine(|| {
            let row = if is_before { cursor.peek_prev() } else { cursor.peek_next() };
            row.inspect(|row| _ = row.as_ref().map(|(key, value)| (key.value(), value.value())))
        })?;
        if let Some((key, value)) = row.map_err(store)? {
            check_row(table, key.value(), value.value())?;
            if is_before == is_within(key.value(), place) {
                return Err(damaged_at(table, key.value()));
            }
            next = Some(key).filter(|_| !is_before);
        }
    }
    Ok(next)
}

/// Checks a row that is not passed to the caller.
fn check_row(table: &str, key: &[u8], value: &[u8]) -> Result<()> {
    StoredValue::read(key, value).map(drop).map_err(|_| damaged_at(table, key))
}

/// Returns true if the key is not below the lower bound.
fn is_within(key: &[u8], lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

/// Calls `read` for each row of one page of a scan. Returns the position at which the scan continues.
///
/// Returns a position only if the scan finds another row, or if the page has examined [`EXAMINED`] rows.
pub(super) fn page(
    rows: &RowTable,
    scan: &Scan,
    from: Option<&Continuation>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<Option<Continuation>> {
    let range = StoreRange::new(scan, from);
    let Some((lower, upper)) = range.bounds() else { return Ok(None) };
    // In a single partition, a range of row keys narrows the range of the scan. In several partitions, each row key has
    // to be compared.
    let compared = !matches!(scan.partitions, Partitions::One(_)) && scan.rows != KeyRange::ALL;
    let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).max(1);
    if lower != Bound::Unbounded {
        check_gap(rows, &scan.table, lower)?;
    }
    // The upper bound is compared in the loop, so that the first row after it is read and checked as well.
    let mut stored_rows = engine(|| rows.range::<&[u8]>((lower, Bound::Unbounded)))?.map_err(store)?;
    let (mut kept, mut last) = (Vec::new(), Vec::new());
    let (mut given, mut examined, mut bytes) = (0, 0, 0);
    loop {
        // The guards of the key and the value are large, so the closure stores them here instead of returning them.
        let mut row = None;
        engine(|| {
            row = stored_rows.next();
            if let Some(Ok((key, value))) = &row {
                let _ = (key.value(), value.value());
            }
        })?;
        let (key, value) = match &row {
            None => return Ok(None),
            Some(Ok((key, value))) => (key.value(), value.value()),
            Some(Err(_)) => return Err(row.and_then(Result::err).map_or_else(|| StoreError::Stopped.into(), store)),
        };
        let is_in_order = if examined == 0 { is_within(key, lower) } else { key > last.as_slice() };
        if !is_in_order {
            return Err(damaged_at(&scan.table, key));
        }
        let is_past = match upper {
            Bound::Included(upper) => key > upper,
            Bound::Excluded(upper) => key >= upper,
            Bound::Unbounded => false,
        };
        if is_past {
            check_row(&scan.table, key, value)?;
            return Ok(None);
        }
        let is_full = given == limit || bytes >= BYTES;
        let continuation = || {
            let (partition_key, row_key) = range.decode(&last)?;
            Some(Continuation { partition_key: partition_key.into_owned(), row_key: Some(row_key.into_owned()) })
        };
        // If the scan returns every row, one more row is enough to know that it continues.
        if examined == EXAMINED || (is_full && !compared && scan.filter.is_none()) {
            return Ok(continuation());
        }
        let (partition_key, row_key) = range.decode(key).ok_or_else(|| damaged_at(&scan.table, key))?;
        if !compared || within(&scan.rows, &row_key) {
            let damaged = |damage| damaged(&scan.table, &partition_key, &row_key, damage);
            let stored = StoredValue::read(key, value).map_err(damaged)?;
            let holds = match &scan.filter {
                // In a damaged row, the filter may not find a property that exists, so damage is an error here.
                Some(filter) => filter.holds(stored.properties().map_err(damaged)?),
                None => true,
            };
            if holds && is_full {
                return Ok(continuation());
            }
            if holds {
                let properties = properties(stored, scan.select.as_deref(), checks, &mut kept).map_err(damaged)?;
                given += 1;
                bytes += properties.as_bytes().len();
                let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
                read(RowRef { partition_key: &partition_key, row_key: &row_key, properties, etag, timestamp })?;
            }
        }
        examined += 1;
        last.clear();
        last.extend_from_slice(key);
    }
}

/// Returns the properties to pass to the caller. A reader that gets them by reference gets all of them, because it can
/// skip those that were not selected in less time than a copy of the others takes.
fn properties<'a>(
    stored: StoredValue<'a>,
    select: Option<&[&str]>,
    checks: Checks,
    kept: &'a mut Vec<u8>,
) -> Result<PropertiesRef<'a>, DamagedProperties> {
    match (checks, select) {
        (Checks::Reader, _) => Ok(stored.unread()),
        (Checks::Store, Some(names)) => stored.select(names, kept),
        (Checks::Store, None) => stored.properties(),
    }
}

fn within(range: &KeyRange, row_key: &str) -> bool {
    let key = |key: &String| store_key::encode("", key);
    let bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>) = (range.from.as_ref().map(key), range.to.as_ref().map(key));
    bounds.contains(&store_key::encode("", row_key))
}

/// Returns the error of a row whose key is damaged, or may be damaged.
#[cold]
fn damaged_at(table: &str, key: &[u8]) -> Error {
    match store_key::decode(key) {
        Some((partition_key, row_key)) => damaged(table, &partition_key, &row_key, DamagedProperties),
        None => damaged(table, &String::from_utf8_lossy(key), "", DamagedProperties),
    }
}

pub(super) fn damaged(table: &str, partition_key: &str, row_key: &str, damage: DamagedProperties) -> Error {
    let row = RowId { table: table.to_owned(), partition_key: partition_key.to_owned(), row_key: row_key.to_owned() };
    Error::Damaged { row: Box::new(row), damage }
}
