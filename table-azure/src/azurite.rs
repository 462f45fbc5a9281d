//! What Azurite would apply to other rows, and what it does not accept.
//!
//! Azurite 3.37 decodes the address of each operation in a `$batch` and finds the two keys with the patterns
//! `(?<=PartitionKey=')(.*)(?=',)` and `(?<=RowKey=')(.+)(?='\))`, ignoring case. The first pattern takes everything up
//! to the last `',`, the second one begins at the first `RowKey='`, and neither passes a line separator. With some keys
//! the patterns find another row: Azurite writes that row and answers with success. An insert has its keys in its body,
//! and Azurite reads a request outside a `$batch` in another way, so this backend sends both of them unchanged.
//!
//! Azurite accepts a row whose JSON has 1 MiB at most, where the service measures the row itself. This backend sends a
//! character outside ASCII to Azurite in six bytes: see [`Texts`](super::entity::Texts).

use table_store::{
    Result, RowId, ValueRef,
    backend::{Action, Group},
    error::LimitError,
};

/// The most bytes of a row's JSON.
const ROW_BYTES: usize = 1 << 20;

/// Refuses rows that Azurite does not accept because of the form in which it is sent their texts.
pub(super) fn check_rows(group: &Group) -> Result<()> {
    for one in &group.operations {
        // Few rows are long enough to be measured.
        let Some(properties) = one.action.properties().filter(|row| row.as_bytes().len() > ROW_BYTES / 6) else {
            continue;
        };
        let texts = properties.iter().filter_map(|(name, value)| match value {
            ValueRef::String(text) => Some((name, text.chars().map(escaped).sum::<usize>())),
            _ => None,
        });
        let texts: Vec<_> = texts.collect();
        let bytes: usize = texts.iter().map(|(_, bytes)| bytes).sum();
        if bytes > ROW_BYTES
            && let Some((name, _)) = texts.iter().max_by_key(|(_, bytes)| bytes)
        {
            let (table, partition_key, row_key) =
                (group.table.to_string(), group.partition_key.clone(), one.row_key.clone());
            return Err(Box::new(LimitError::new(
                table.clone(),
                Some(RowId { table, partition_key, row_key }),
                format!("on Azurite, with the property `{name}` as the longest, the row's texts have"),
                format!("{bytes} bytes, because a character outside ASCII is sent to it in six"),
                "1048576 bytes of JSON in Azurite; the service and the embedded store accept the row",
            ))
            .into());
        }
    }
    Ok(())
}

/// Returns the number of bytes in which a character of a text is sent.
const fn escaped(character: char) -> usize {
    if character.is_ascii() { 1 } else { 6 * character.len_utf16() }
}

/// Refuses a transaction that Azurite would apply to other rows.
pub(super) fn check_batch(group: &Group) -> Result<()> {
    for one in &group.operations {
        if let Some((what, found)) = misread(&group.partition_key, &one.row_key, &one.action) {
            let (table, partition_key, row_key) =
                (group.table.to_string(), group.partition_key.clone(), one.row_key.clone());
            return Err(Box::new(LimitError::new(
                table.clone(),
                Some(RowId { table, partition_key, row_key }),
                format!("in a transaction on Azurite, the {what}"),
                format!("{found}, so Azurite would write another row"),
                "a key that Azurite's `$batch` parser finds in the address; write this row by itself, or use the \
                        embedded store or the service",
            ))
            .into());
        }
    }
    Ok(())
}

/// Returns which key Azurite would misread, and why.
fn misread(partition_key: &str, row_key: &str, action: &Action) -> Option<(&'static str, &'static str)> {
    if let Action::Insert(_) = action {
        return None;
    }
    // In an address each quote is doubled, so the quote before a comma is the second of a pair.
    if row_key.starts_with(',') {
        return Some(("row key", "begins with `,`"));
    }
    if row_key.contains("',") {
        return Some(("row key", "contains `',`"));
    }
    if partition_key.to_ascii_lowercase().contains("rowkey='") {
        return Some(("partition key", "contains `RowKey='`"));
    }
    // If Azurite finds no key in the address, it takes the key in the body, but a delete has no body.
    let separated = |key: &str| key.contains(['\u{2028}', '\u{2029}']);
    if matches!(action, Action::Delete(_)) && (separated(partition_key) || separated(row_key)) {
        let key = if separated(row_key) { "row key" } else { "partition key" };
        return Some((key, "contains a line separator, U+2028 or U+2029"));
    }
    None
}
