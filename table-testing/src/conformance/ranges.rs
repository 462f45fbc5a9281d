//! The partitions and the ranges of row keys of a scan.

use std::ops::Bound;

use table_store::backend::{KeyRange, Partitions, Scan};

use super::{
    contract,
    expect::{Checked, expect},
    table::{PARTITION, Table, owned},
};

contract! { "ranges":
    a_scan_may_read_one_partition
    a_scan_may_read_the_partitions_after_a_key
    a_scan_may_read_a_range_of_partitions
    a_scan_of_a_missing_partition_is_empty
    ends_are_included_or_excluded
    ends_need_no_row
    a_range_whose_ends_are_reversed_is_empty
    a_range_of_one_key_has_one_row
    a_range_holds_for_a_prefix
    ends_are_compared_by_utf16_unit
    a_range_holds_in_each_partition
}

/// Returns the scan of a range of the partition [`PARTITION`].
fn range(table: &Table<'_>, from: Bound<&str>, to: Bound<&str>) -> Scan {
    let rows = KeyRange { from: from.map(str::to_owned), to: to.map(str::to_owned) };
    Scan { partitions: Partitions::One(PARTITION.to_owned()), rows, ..table.scan() }
}

/// Returns the three kinds of ends at a key.
fn ends(key: &str) -> [Bound<&str>; 3] {
    [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded]
}

/// Checks the row keys of a range.
async fn is_range(table: &Table<'_>, from: Bound<&str>, to: Bound<&str>, expected: &[&str]) -> Checked {
    let found = table.row_keys(&range(table, from, to)).await?;
    expect(format!("the rows from {from:?} to {to:?}"), found, owned(expected))
}

async fn a_scan_may_read_one_partition(table: &Table<'_>) -> Checked {
    table.fill(&[("o", "a"), ("p", "b"), ("p", "c"), ("pp", "d"), ("P", "e")]).await?;
    is_range(table, Bound::Unbounded, Bound::Unbounded, &["b", "c"]).await
}

async fn a_scan_may_read_the_partitions_after_a_key(table: &Table<'_>) -> Checked {
    table
        .fill(&[("", "a"), ("p", "b"), ("pp", "c"), ("q", "d"), ("q", "e"), ("\u{10000}", "f"), ("\u{E000}", "g")])
        .await?;
    for (after, expected) in [
        ("", &["b", "c", "d", "e", "f", "g"][..]),
        ("o", &["b", "c", "d", "e", "f", "g"]),
        ("p", &["c", "d", "e", "f", "g"]),
        ("pp", &["d", "e", "f", "g"]),
        ("q", &["f", "g"]),
        ("\u{10000}", &["g"]),
        ("\u{E000}", &[]),
    ] {
        let scan = Scan { partitions: Partitions::after(after.to_owned()), ..table.scan() };
        expect(format!("the rows after {after:?}"), table.row_keys(&scan).await?, owned(expected))?;
    }
    Ok(())
}

async fn a_scan_may_read_a_range_of_partitions(table: &Table<'_>) -> Checked {
    const PARTITIONS: [&str; 7] = ["", "a", "b", "ba", "c", "\u{10000}", "\u{E000}"];
    table.fill(&PARTITIONS.map(|partition| (partition, "r"))).await?;
    let ends = |key: &str| [Bound::Included(key.to_owned()), Bound::Excluded(key.to_owned()), Bound::Unbounded];
    for (from, first) in ends("b").into_iter().zip([2, 3, 0]) {
        for (to, end) in ends("\u{10000}").into_iter().zip([6, 5, 7]) {
            let partitions = Partitions::Range(KeyRange { from: from.clone(), to });
            let scan = Scan { partitions, page: 2, ..table.scan() };
            let expected = PARTITIONS[first..end].iter().map(|partition| ((*partition).to_owned(), "r".to_owned()));
            let what = format!("the rows of {:?}", scan.partitions);
            expect(what, table.keys(&scan).await?, expected.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

async fn a_scan_of_a_missing_partition_is_empty(table: &Table<'_>) -> Checked {
    table.fill(&[("o", "a"), ("q", "a")]).await?;
    is_range(table, Bound::Unbounded, Bound::Unbounded, &[]).await
}

async fn ends_are_included_or_excluded(table: &Table<'_>) -> Checked {
    const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];
    table.fill(&KEYS.map(|key| (PARTITION, key))).await?;
    for (from, first) in ends("b").into_iter().zip([1, 2, 0]) {
        for (to, end) in ends("d").into_iter().zip([4, 3, 5]) {
            is_range(table, from, to, &KEYS[first..end]).await?;
        }
    }
    Ok(())
}

async fn ends_need_no_row(table: &Table<'_>) -> Checked {
    table.fill(&["b", "d", "f"].map(|key| (PARTITION, key))).await?;
    for from in &ends("c")[..2] {
        for to in &ends("e")[..2] {
            is_range(table, *from, *to, &["d"]).await?;
        }
    }
    is_range(table, Bound::Included("g"), Bound::Unbounded, &[]).await?;
    is_range(table, Bound::Unbounded, Bound::Included("a"), &[]).await
}

async fn a_range_whose_ends_are_reversed_is_empty(table: &Table<'_>) -> Checked {
    table.fill(&["a", "b", "c"].map(|key| (PARTITION, key))).await?;
    is_range(table, Bound::Included("c"), Bound::Included("a"), &[]).await?;
    is_range(table, Bound::Excluded("b"), Bound::Excluded("b"), &[]).await?;
    is_range(table, Bound::Included("b"), Bound::Excluded("b"), &[]).await?;
    is_range(table, Bound::Excluded("b"), Bound::Included("b"), &[]).await
}

async fn a_range_of_one_key_has_one_row(table: &Table<'_>) -> Checked {
    table.fill(&["a", "b", "ba", "c"].map(|key| (PARTITION, key))).await?;
    is_range(table, Bound::Included("b"), Bound::Included("b"), &["b"]).await
}

async fn a_range_holds_for_a_prefix(table: &Table<'_>) -> Checked {
    table.fill(&["a", "a-", "a-1", "a-2", "a-\u{10FFFF}", "a-\u{FFFD}", "a.", "b"].map(|key| (PARTITION, key))).await?;
    let expected = ["a-", "a-1", "a-2", "a-\u{10FFFF}", "a-\u{FFFD}"];
    is_range(table, Bound::Included("a-"), Bound::Excluded("a."), &expected).await
}

async fn ends_are_compared_by_utf16_unit(table: &Table<'_>) -> Checked {
    const KEYS: [&str; 5] = ["\u{D7FF}", "\u{10000}", "\u{10FFFF}", "\u{E000}", "\u{FF41}"];
    table.fill(&KEYS.map(|key| (PARTITION, key))).await?;
    for (at, key) in KEYS.into_iter().enumerate() {
        is_range(table, Bound::Included(key), Bound::Unbounded, &KEYS[at..]).await?;
        is_range(table, Bound::Excluded(key), Bound::Unbounded, &KEYS[at + 1..]).await?;
        is_range(table, Bound::Unbounded, Bound::Included(key), &KEYS[..=at]).await?;
        is_range(table, Bound::Unbounded, Bound::Excluded(key), &KEYS[..at]).await?;
    }
    Ok(())
}

async fn a_range_holds_in_each_partition(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = ["p", "q", "r"].iter().flat_map(|part| ["a", "b", "c", "d"].map(|key| (*part, key))).collect();
    table.fill(&keys).await?;
    let rows = KeyRange { from: Bound::Excluded("a".to_owned()), to: Bound::Included("c".to_owned()) };
    for (partitions, parts) in
        [(Partitions::ALL, &["p", "q", "r"][..]), (Partitions::after("p".to_owned()), &["q", "r"])]
    {
        let scan = Scan { partitions, rows: rows.clone(), page: 2, ..table.scan() };
        let pairs = |part: &&str| ["b", "c"].map(|key| ((*part).to_owned(), key.to_owned()));
        let expected: Vec<_> = parts.iter().flat_map(pairs).collect();
        expect(format!("the rows of {:?}", scan.partitions), table.keys(&scan).await?, expected)?;
    }
    Ok(())
}
