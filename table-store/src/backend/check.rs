//! Checks of requests against the service's limits, before anything is sent.

use std::ops::Bound;

use hashbrown::HashSet;

use super::{Group, Operation, Partitions, Scan};
use crate::{
    Properties, Result, ValueRef,
    backend::KeyRange,
    unstable::limits::{
        ADDRESS_BYTES, COMPARISONS, MOST_COMPARISONS, OPERATIONS, TRANSACTION_BYTES, broken, check_key, check_row,
        check_table_name,
    },
};

/// Checks the operations of a write.
pub(super) fn group(group: &Group) -> Result<()> {
    shape(group)?;
    group.operations.iter().try_for_each(|operation| row(group, operation))?;
    let mut rows = HashSet::new();
    let repeated = group.operations.iter().find(|operation| !rows.insert(&operation.row_key));
    if let (Some(Operation { row_key, .. }), 2..) = (repeated, group.operations.len()) {
        let found = format_args!("more than one operation on the row `{row_key}`");
        return Err(broken(&group.table, "the transaction has", found, "one operation for each row"));
    }
    request(group)
}

/// Checks what does not concern a single row.
pub(super) fn size(group: &Group) -> Result<()> {
    shape(group)?;
    request(group)
}

/// Checks the row that an operation writes.
pub(super) fn row(Group { table, partition_key, .. }: &Group, operation: &Operation) -> Result<()> {
    check_key(table, "RowKey", &operation.row_key)?;
    match operation.action.properties() {
        Some(properties) => check_row(table, partition_key, &operation.row_key, properties.as_ref()),
        None => Ok(()),
    }
}

/// Checks the table, the partition key and the number of operations.
fn shape(group: &Group) -> Result<()> {
    check_table_name(&group.table)?;
    check_key(&group.table, "PartitionKey", &group.partition_key)?;
    if !(1..=OPERATIONS).contains(&group.operations.len()) {
        let found = format_args!("{} operations", group.operations.len());
        return Err(broken(&group.table, "the transaction has", found, "1 to 100 operations"));
    }
    Ok(())
}

/// Checks the size of a transaction's request. The exact size depends on the account's address, which only the backend
/// for the service knows and counts; this check uses a lower bound.
fn request(group: &Group) -> Result<()> {
    /// Bytes of the lines around each row.
    const LINES: usize = 150;
    let properties =
        |operation: &Operation| operation.action.properties().map_or(0, |properties| properties.as_bytes().len());
    // Most requests are small enough by this upper bound, whatever they hold: a UTF-16 unit takes no more than `\u20AC`
    // for each of its bytes.
    let most = group
        .operations
        .iter()
        .map(|operation| 2048 + 7 * (properties(operation) + operation.row_key.len()))
        .sum::<usize>();
    if group.operations.len() == 1 || most + 7 * group.partition_key.len() * group.operations.len() < TRANSACTION_BYTES
    {
        return Ok(());
    }
    let bytes = |operation: &Operation| {
        let keys = 2 * (group.partition_key.len() + operation.row_key.len());
        let written = operation.action.properties().into_iter().flat_map(Properties::iter);
        LINES + keys + written.map(|(name, value)| name.len() + 4 + json_bytes(value)).sum::<usize>()
    };
    let bytes = group.operations.iter().map(bytes).sum::<usize>();
    if bytes > TRANSACTION_BYTES {
        let found = format_args!("at least {bytes} bytes");
        return Err(broken(&group.table, "the transaction's request has", found, "4194304 bytes"));
    }
    Ok(())
}

/// Returns the smallest number of bytes that a value takes in JSON.
fn json_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::String(text) => {
            text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | ..b' ')).count()
        }
        ValueRef::Binary(data) => data.len().div_ceil(3) * 4,
        _ => 1,
    }
}

/// Checks the keys and the filter of a read.
pub(super) fn scan(scan: &Scan) -> Result<()> {
    let table = &*scan.table;
    check_table_name(table)?;
    let check_range = |name, KeyRange { from, to }: &KeyRange| {
        [from, to].into_iter().try_for_each(|bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => check_key(table, name, key),
            Bound::Unbounded => Ok(()),
        })
    };
    match &scan.partitions {
        Partitions::One(key) => check_key(table, "PartitionKey", key)?,
        Partitions::Range(range) => check_range("PartitionKey", range)?,
    }
    check_range("RowKey", &scan.rows)?;
    if scan.comparisons() > COMPARISONS {
        let found = format_args!("{} comparisons", scan.comparisons());
        return Err(broken(table, "the query has", found, MOST_COMPARISONS));
    }
    address(scan)
}

/// Checks the length of a query's address, which holds the filter and the names of the properties, percent-encoded.
fn address(scan: &Scan) -> Result<()> {
    /// Bytes reserved for the service's name, the table's name, the other parameters and a continuation token.
    const REST: usize = 1024;
    let length = |KeyRange { from, to }: &KeyRange| {
        let lengths = [from, to].map(|bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.len(),
            Bound::Unbounded => 0,
        });
        lengths[0] + lengths[1]
    };
    let partitions = match &scan.partitions {
        Partitions::One(key) => key.len(),
        Partitions::Range(range) => length(range),
    };
    let select = scan.select.iter().flat_map(|select| select.iter()).map(|name| name.len() + 3).sum::<usize>();
    // Most addresses are short enough by this upper bound, whatever the keys hold.
    if scan.filter.is_none() && 6 * (length(&scan.rows) + partitions) + select < ADDRESS_BYTES / 2 {
        return Ok(());
    }
    // A filter with many negations is not formatted, because that takes a stack as deep as they are nested. Each writes
    // `not (` and `)`.
    let negations = 12 * scan.filter.as_ref().map_or(0, |filter| filter.size().negations);
    if negations > ADDRESS_BYTES {
        return Err(broken(
            &scan.table,
            "the query's address has",
            format_args!("over {negations} bytes"),
            "8192 bytes",
        ));
    }
    let encoded = |byte: u8| if byte.is_ascii_alphanumeric() { 1 } else { 3 };
    let bytes = REST + select + scan.odata().bytes().map(encoded).sum::<usize>();
    if bytes > ADDRESS_BYTES {
        let found = format_args!("about {bytes} bytes");
        return Err(broken(&scan.table, "the query's address has", found, "8192 bytes"));
    }
    Ok(())
}
