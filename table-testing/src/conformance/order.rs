//! The order of rows: by partition key, then by row key, by UTF-16 unit.

use table_store::backend::{Partitions, Scan};

use super::{
    contract,
    expect::{Checked, expect},
    table::{PARTITION, Table, owned},
};

contract! { "order":
    partitions_come_before_row_keys
    the_order_of_inserts_does_not_matter
    a_key_comes_before_the_keys_that_it_begins
    keys_are_compared_by_code_not_by_language
    row_keys_are_compared_by_utf16_unit
    partition_keys_are_compared_by_utf16_unit
}

/// Inserts these row keys in another order, and checks that a scan has them in this order.
async fn is_order(table: &Table<'_>, row_keys: &[&str]) -> Checked {
    let mut keys: Vec<_> = row_keys.iter().map(|row_key| (PARTITION, *row_key)).collect();
    let middle = keys.len() / 2;
    keys.rotate_left(middle);
    keys.reverse();
    table.fill(&keys).await?;
    expect("the order of a scan", table.row_keys(&table.scan()).await?, owned(row_keys))?;
    let one = Scan { partitions: Partitions::One(PARTITION.to_owned()), page: 2, ..table.scan() };
    expect("the order of the pages of a partition", table.row_keys(&one).await?, owned(row_keys))
}

async fn partitions_come_before_row_keys(table: &Table<'_>) -> Checked {
    table.fill(&[("b", "a"), ("a", "c"), ("b", "b"), ("a", "d"), ("ab", "a")]).await?;
    let expected = [("a", "c"), ("a", "d"), ("ab", "a"), ("b", "a"), ("b", "b")];
    let expected = expected.map(|(partition_key, row_key)| (partition_key.to_owned(), row_key.to_owned()));
    expect("the order of a scan", table.keys(&table.scan()).await?, expected.to_vec())
}

async fn the_order_of_inserts_does_not_matter(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = (0..50).map(|n| format!("{n:02}")).collect();
    let mixed: Vec<_> = (0..50).map(|n| (PARTITION, &keys[n * 37 % 50])).collect();
    table.fill(&mixed).await?;
    expect("the order of a scan", table.row_keys(&table.scan()).await?, keys)
}

async fn a_key_comes_before_the_keys_that_it_begins(table: &Table<'_>) -> Checked {
    is_order(table, &["", " ", "a", "a ", "aa", "aaa", "ab", "b"]).await
}

async fn keys_are_compared_by_code_not_by_language(table: &Table<'_>) -> Checked {
    is_order(table, &["!", "-", "10", "9", "A", "B", "Z", "_", "a", "b", "z", "~", "ß", "ä", "é"]).await
}

/// Row keys in the order of their UTF-16 units: by code point, those above U+FFFF would come last.
const UNITS: [&str; 10] =
    ["", "a", "aa", "a\u{10FFFF}", "a\u{E000}", "\u{D7FF}", "\u{10000}", "\u{1D11E}", "\u{E000}", "\u{FF41}"];

async fn row_keys_are_compared_by_utf16_unit(table: &Table<'_>) -> Checked {
    is_order(table, &UNITS).await
}

async fn partition_keys_are_compared_by_utf16_unit(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = UNITS.iter().rev().flat_map(|partition| [(*partition, "2"), (*partition, "1")]).collect();
    table.fill(&keys).await?;
    let pairs = |partition: &&str| ["1", "2"].map(|row_key| ((*partition).to_owned(), row_key.to_owned()));
    let expected: Vec<_> = UNITS.iter().flat_map(pairs).collect();
    expect("the order of a scan", table.keys(&table.scan()).await?, expected.clone())?;
    expect("the order of its pages", table.keys(&Scan { page: 3, ..table.scan() }).await?, expected)
}
