//! Points and pages, read from a snapshot.

use std::ops::{Bound, RangeBounds};

use redb::{AccessGuard, ReadableTable};

use super::{
    failure::{StoreError, engine, store},
    snapshot::Rows,
    store_key,
    store_key::StoreRange,
    stored_value::StoredValue,
};
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
    let key = store_key::encode(partition_key, row_key);
    // Where a damaged page says that the value stands is found out by looking at it.
    let value = engine(|| rows.get(key.as_slice()).inspect(|value| _ = value.as_ref().map(AccessGuard::value)))?;
    let Some(value) = value.map_err(store)? else {
        return match check_gap(rows, table, Bound::Included(&key))? {
            // The search for a range finds what the search for the key did not.
            Some(next) if next.value() == key => Err(damaged_at(table, &key)),
            _ => Ok(false),
        };
    };
    let damaged = |damage| damaged(table, partition_key, row_key, damage);
    let stored = StoredValue::read(&key, value.value()).map_err(damaged)?;
    let mut kept = Vec::new();
    let properties = properties(stored, select, checks, &mut kept).map_err(damaged)?;
    let (etag, timestamp) = (&ETag::from(stored.timestamp), stored.timestamp);
    read(RowRef { partition_key, row_key, properties, etag, timestamp })?;
    Ok(true)
}

/// Checks the rows around the place where a search ended. A damaged key may have led it to the wrong place, and then
/// it is next to it, or the rows there are not around what was searched for. Returns the key after the place.
fn check_gap<'r>(rows: &'r Rows, table: &str, place: Bound<&[u8]>) -> Result<Option<AccessGuard<'r, &'static [u8]>>> {
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

/// Checks a row that is not given out.
fn check_row(table: &str, key: &[u8], value: &[u8]) -> Result<()> {
    StoredValue::read(key, value).map(drop).map_err(|_| damaged_at(table, key))
}

/// Whether a key is not below a lower bound.
fn is_within(key: &[u8], lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

/// Lends the rows of one page of a scan, and says where it goes on.
///
/// It goes on only if there is another row that the scan gives, or if the page has looked at [so many](EXAMINED) rows.
pub(super) fn page(
    rows: &Rows,
    scan: &Scan,
    from: Option<&Continuation>,
    checks: Checks,
    read: Reader<'_>,
) -> Result<Option<Continuation>> {
    let range = StoreRange::new(scan, from);
    let Some((lower, upper)) = range.bounds() else { return Ok(None) };
    // A range of row keys narrows one partition; of several it has to be compared row by row.
    let compared = !matches!(scan.partitions, Partitions::One(_)) && scan.rows != KeyRange::ALL;
    let limit = usize::try_from(scan.page).unwrap_or(usize::MAX).max(1);
    if lower != Bound::Unbounded {
        check_gap(rows, &scan.table, lower)?;
    }
    // The upper bound is compared here, so that the first row past it is seen, and checked, too.
    let mut stored_rows = engine(|| rows.range::<&[u8]>((lower, Bound::Unbounded)))?.map_err(store)?;
    let (mut kept, mut last) = (Vec::new(), Vec::new());
    let (mut given, mut examined, mut bytes) = (0, 0, 0);
    loop {
        // The guards of the two are large, and stay where they are.
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
        let goes_on = || {
            let (partition_key, row_key) = range.decode(&last)?;
            Some(Continuation { partition_key: partition_key.into_owned(), row_key: Some(row_key.into_owned()) })
        };
        // Of all that is given, one row further is enough to know that there is more.
        if examined == EXAMINED || (is_full && !compared && scan.filter.is_none()) {
            return Ok(goes_on());
        }
        let (partition_key, row_key) = range.decode(key).ok_or_else(|| damaged_at(&scan.table, key))?;
        if !compared || within(&scan.rows, &row_key) {
            let damaged = |damage| damaged(&scan.table, &partition_key, &row_key, damage);
            let stored = StoredValue::read(key, value).map_err(damaged)?;
            let holds = match &scan.filter {
                // What it does not find in a damaged row, it must not take for missing.
                Some(filter) => filter.holds(stored.properties().map_err(damaged)?),
                None => true,
            };
            if holds && is_full {
                return Ok(goes_on());
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

/// The error of a row whose key is damaged, or may be.
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
