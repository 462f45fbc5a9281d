//! Reads of single rows and of pages, from a snapshot.

use std::{cell::Cell, ops::Bound};

use redb::{Cursor, ReadableTable};
use table_store::{
    DamagedProperties, ETag, Error, PropertiesRef, Result, RowId, RowRef,
    backend::{Checks, Continuation, KeyRange, Partitions, Reader, Scan},
};

use super::{
    failure::{engine_and_caller, store},
    snapshot::RowTable,
    store_key,
    store_key::{KeySpace, StoreRange},
    stored_value::StoredValue,
};

/// Maximum number of rows that a page examines, so that a filter that holds for few rows cannot occupy a thread for
/// long.
const EXAMINED: usize = 20_000;
/// Number of bytes of properties after which a page ends. The last row may exceed it.
const BYTES: usize = 16 * 1024 * 1024;

/// A position among the rows of a table.
type StoredRows<'r> = Cursor<'r, &'static [u8], &'static [u8]>;

/// Calls `read` with the row at these keys, if it exists.
pub(super) fn get(
    rows: &RowTable,
    table: &str,
    partition_key: &str,
    row_key: &str,
    select: Option<&[&str]>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<()> {
    let is_reading = Cell::new(false);
    engine_and_caller(&is_reading, || {
        let mut space = KeySpace::new();
        let key = space.encode(partition_key, row_key);
        let Some(value) = rows.get(key).map_err(store)? else {
            let mut cursor = rows.lower_bound(Bound::Included(key)).map_err(store)?;
            check_before(&mut cursor, table, Bound::Included(key))?;
            return match cursor.next().map_err(store)? {
                // A damaged key may have led the search to a wrong position. If the range search found the key, but the
                // search for the key did not, the row is damaged.
                Some((next, _)) if next.value() <= key => Err(damaged_at(table, next.value())),
                Some((next, value)) => read_stored(table, next.value(), value.value()).map(drop),
                None => Ok(()),
            };
        };
        let damaged = |damage| damaged(table, partition_key, row_key, damage);
        let stored = StoredValue::read(key, value.value()).map_err(damaged)?;
        let mut kept = Vec::new();
        let properties = properties(stored, select, checks, &mut kept).map_err(damaged)?;
        let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
        is_reading.set(true);
        let done = read(RowRef { partition_key, row_key, properties, etag, timestamp });
        is_reading.set(false);
        done
    })?
}

/// Checks the row before the position where a search ended. A damaged key may have led the search to a wrong position.
/// Then either the damaged key is next to that position, or what was searched for does not belong there.
fn check_before(cursor: &mut StoredRows<'_>, table: &str, place: Bound<&[u8]>) -> Result<()> {
    let Some((key, value)) = cursor.peek_prev().map_err(store)? else { return Ok(()) };
    read_stored(table, key.value(), value.value())?;
    if is_within(key.value(), place) { Err(damaged_at(table, key.value())) } else { Ok(()) }
}

/// Reads the value of a row, whose keys are decoded only for an error.
#[inline]
pub(super) fn read_stored<'v>(table: &str, key: &[u8], value: &'v [u8]) -> Result<StoredValue<'v>> {
    StoredValue::read(key, value).map_err(|_| damaged_at(table, key))
}

/// Returns true if the key is not below the lower bound.
fn is_within(key: &[u8], lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

/// Returns true if the key is above the upper bound.
fn is_past(key: &[u8], upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Included(upper) => key > upper,
        Bound::Excluded(upper) => key >= upper,
        Bound::Unbounded => false,
    }
}

/// Returns the rows from the lower bound on. The caller compares the upper bound, so that it also reads and checks the
/// first row after the range. A cursor takes fewer instructions for a row than `range`.
fn begin<'r>(rows: &'r RowTable, table: &str, lower: Bound<&[u8]>) -> Result<StoredRows<'r>> {
    let mut cursor = rows.lower_bound(lower).map_err(store)?;
    if lower != Bound::Unbounded {
        check_before(&mut cursor, table, lower)?;
    }
    Ok(cursor)
}

/// Returns the position after the row with this key.
fn after(range: &StoreRange<'_>, key: &[u8]) -> Option<Continuation> {
    let (partition_key, row_key) = range.decode(key)?;
    Some(Continuation { partition_key: partition_key.into_owned(), row_key: Some(row_key.into_owned()) })
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
    let is_reading = Cell::new(false);
    let read = |row: RowRef<'_>| {
        is_reading.set(true);
        let done = read(row);
        is_reading.set(false);
        done
    };
    engine_and_caller(&is_reading, || read_page(rows, scan, from, checks, read))?
}

fn read_page(
    rows: &RowTable,
    scan: &Scan,
    from: Option<&Continuation>,
    checks: Checks,
    mut read: impl FnMut(RowRef<'_>) -> Result<()>,
) -> Result<Option<Continuation>> {
    let range = StoreRange::new(scan, from);
    let Some((lower, upper)) = range.bounds() else { return Ok(None) };
    // In a single partition, a range of row keys narrows the range of the scan. In several partitions, each row key has
    // to be compared.
    let compared = !matches!(scan.partitions, Partitions::One(_)) && scan.rows != KeyRange::ALL;
    let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).max(1);
    let mut cursor = begin(rows, &scan.table, lower)?;
    // The key of the row before is copied, because to keep its guard, which is large, takes longer.
    let (mut kept, mut last) = (Vec::new(), Vec::new());
    let (mut given, mut examined, mut bytes) = (0, 0, 0);
    while let Some((key, value)) = cursor.next().map_err(store)? {
        let (key, value) = (key.value(), value.value());
        let is_in_order = if examined == 0 { is_within(key, lower) } else { key > last.as_slice() };
        if !is_in_order {
            return Err(damaged_at(&scan.table, key));
        }
        if is_past(key, upper) {
            read_stored(&scan.table, key, value)?;
            break;
        }
        let is_full = given == limit || bytes >= BYTES;
        // If the scan returns every row, one more row is enough to know that it continues.
        if examined == EXAMINED || (is_full && !compared && scan.filter.is_none()) {
            return Ok(after(&range, &last));
        }
        // A row whose key is out of the range is checked as well, because the key may be damaged.
        let stored = read_stored(&scan.table, key, value)?;
        let (partition_key, row_key) = range.decode(key).ok_or_else(|| damaged_at(&scan.table, key))?;
        if !compared || scan.rows.contains(&row_key) {
            let damaged = |damage| damaged(&scan.table, &partition_key, &row_key, damage);
            let holds = match &scan.filter {
                // In a damaged row, the filter may not find a property that exists, so damage is an error here.
                Some(filter) => filter.holds(stored.properties().map_err(damaged)?),
                None => true,
            };
            if holds && is_full {
                return Ok(after(&range, &last));
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
    Ok(None)
}

/// Returns the properties to pass to the caller. A reader that gets them by reference gets all of them, because it can
/// skip those that were not selected in less time than a copy of the others takes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it runs for each row, and the compiler inlines it by chance")]
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
    Error::damaged(row, damage)
}
