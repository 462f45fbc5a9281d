//! Reads of single rows, and rows by reference.

use std::ops::Bound;

use table_store::{
    Error, RowRef, Ticks,
    backend::{Action, BackendExt, IfMatch, KeyRange, Partitions, Scan, StoreView},
};

use super::{
    contract,
    expect::{Checked, Contents, Seen, contents, ensure, expect, some},
    table::{PARTITION, Table, both, number, owned, text},
};

contract! { "reads":
    a_missing_row_is_none
    a_row_has_its_keys_properties_and_version
    keys_have_case
    empty_keys_are_keys
    keys_of_all_kinds_are_found
    the_longest_keys_are_found
    a_select_gives_only_these_properties
    a_select_of_nothing_gives_the_keys
    a_scan_gives_the_same_rows_as_get
    a_scan_gives_only_the_selected_properties
    get_with_passes_the_row_that_get_returns
    get_with_calls_nothing_for_a_missing_row
    get_with_returns_the_error_of_its_reader
    query_with_passes_the_rows_that_query_returns
    query_with_returns_the_error_of_its_reader
    a_snapshot_sees_no_later_write
}

async fn a_snapshot_sees_no_later_write(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    let Some(snapshot) = table.backend.view(StoreView::Snapshot)? else { return Ok(()) };
    table.write("r", Action::Upsert(number(2))).await?;
    table.write("s", Action::Insert(number(3))).await?;
    let before = Table { backend: &*snapshot, name: table.name.clone() };
    expect("the row in the snapshot", contents(&before.row("r").await?.properties), contents(&number(1)))?;
    expect("the rows of the snapshot", before.row_keys(&before.scan()).await?, owned(&["r"]))?;
    let refused = before.write("t", Action::Insert(number(4))).await;
    ensure(refused.is_err(), "a write to a snapshot: expected an error, found success")?;
    expect("the rows of the store", table.row_keys(&table.scan()).await?, owned(&["r", "s"]))
}

async fn a_missing_row_is_none(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    expect("a row key that no row has", table.get("s").await?, None)?;
    let other = table.backend.get(&table.name, "q", "r", None).await?;
    expect("a partition key that no row has", other, None)
}

async fn a_row_has_its_keys_properties_and_version(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(both(1, "x"))).await?;
    let row = table.row("r").await?;
    expect("the keys", (&*row.partition_key, &*row.row_key), (PARTITION, "r"))?;
    expect("the properties", contents(&row.properties), contents(&both(1, "x")))?;
    expect("the ETag", row.etag, etag)?;
    ensure(
        row.timestamp > Ticks::UNIX_EPOCH,
        format!("the time stamp: expected the time of the write, found {}", row.timestamp),
    )
}

async fn keys_have_case(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "r"), ("P", "r"), ("p", "R")]).await?;
    for (keys, expected) in [(("p", "r"), Some(0)), (("P", "r"), Some(1)), (("p", "R"), Some(2)), (("P", "R"), None)] {
        let row = table.backend.get(&table.name, keys.0, keys.1, None).await?;
        expect(format!("the row {keys:?}"), row.map(|row| row.properties), expected.map(number))?;
    }
    Ok(())
}

async fn empty_keys_are_keys(table: &Table<'_>) -> Checked {
    table.fill(&[("", ""), ("", "r"), ("p", "")]).await?;
    for (n, (partition_key, row_key)) in (0..).zip([("", ""), ("", "r"), ("p", "")]) {
        let row = table.backend.get(&table.name, partition_key, row_key, None).await?;
        let properties = row.map(|row| row.properties);
        expect(format!("the row ('{partition_key}','{row_key}')"), properties, Some(number(n)))?;
    }
    let empty = Scan { partitions: Partitions::One(String::new()), ..table.scan() };
    expect("the rows of the empty partition key", table.row_keys(&empty).await?, owned(&["", "r"]))
}

/// Keys with characters that addresses and filters have to escape.
const KEYS: [&str; 14] = [
    "a'b",
    "''",
    "50%",
    "%41",
    "%2541",
    "a+b",
    "a b",
    "a&b=c",
    "ä€𝄞",
    "(x),y;z:@!$*",
    "~-._",
    "\"<>`{|}^[]",
    "..",
    ".",
];

async fn keys_of_all_kinds_are_found(table: &Table<'_>) -> Checked {
    for key in KEYS {
        let write = async |action| table.backend.execute_group(&table.group(key, [(key, action)])).await;
        let get = async || table.backend.get(&table.name, key, key, None).await;
        write(Action::Upsert(number(1))).await?;
        let row = some(format!("the row {key:?}"), get().await?)?;
        expect("the keys", (&*row.partition_key, &*row.row_key), (key, key))?;
        write(Action::Merge(number(2), IfMatch::ETag(row.etag))).await?;
        let merged = get().await?.map(|row| row.properties);
        expect(format!("the row {key:?} after a merge"), merged, Some(number(2)))?;
        let bound = || Bound::Included(key.to_owned());
        let rows = KeyRange { from: bound(), to: bound() };
        let scan = Scan { partitions: Partitions::One(key.to_owned()), rows, ..table.scan() };
        expect(format!("a scan for {key:?}"), table.row_keys(&scan).await?, owned(&[key]))?;
        write(Action::Delete(IfMatch::Any)).await?;
        expect(format!("the row {key:?} after a deletion"), get().await?, None)?;
    }
    Ok(())
}

async fn the_longest_keys_are_found(table: &Table<'_>) -> Checked {
    let (partition_key, row_key) = ("p".repeat(512), "ä".repeat(512));
    table.fill(&[(&partition_key, &row_key)]).await?;
    let row = table.backend.get(&table.name, &partition_key, &row_key, None).await?;
    expect("the row with keys of 512 UTF-16 units", row.map(|row| row.properties), Some(number(0)))?;
    expect("a scan", table.keys(&table.scan()).await?, vec![(partition_key, row_key)])
}

async fn a_select_gives_only_these_properties(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(both(1, "x"))).await?;
    let row = table.backend.get(&table.name, PARTITION, "r", Some(&["Text", "Missing"])).await?;
    let row = some("the row", row)?;
    expect("the selected properties", contents(&row.properties), contents(&text("x")))?;
    expect("the keys and the ETag", (&*row.partition_key, &*row.row_key, row.etag), (PARTITION, "r", etag))
}

async fn a_select_of_nothing_gives_the_keys(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(both(1, "x"))).await?;
    let row = some("the row", table.backend.get(&table.name, PARTITION, "r", Some(&[])).await?)?;
    expect("the properties", contents(&row.properties), Contents::new())?;
    expect("the keys and the ETag", (&*row.partition_key, &*row.row_key, row.etag), (PARTITION, "r", etag))
}

async fn a_scan_gives_the_same_rows_as_get(table: &Table<'_>) -> Checked {
    for row_key in ["a", "b"] {
        table.write(row_key, Action::Insert(both(1, row_key))).await?;
    }
    for row in table.rows(&table.scan()).await? {
        expect("a row of a scan", Seen::from(&row), Seen::from(&table.row(&row.row_key).await?))?;
    }
    Ok(())
}

async fn a_scan_gives_only_the_selected_properties(table: &Table<'_>) -> Checked {
    table.write("a", Action::Insert(both(1, "x"))).await?;
    table.write("b", Action::Insert(number(2))).await?;
    let scan = Scan { select: Some((&["Text", "Missing"]).into()), ..table.scan() };
    let rows = table.rows(&scan).await?;
    let found: Vec<_> = rows.iter().map(|row| (&*row.row_key, contents(&row.properties))).collect();
    expect("the rows", found, vec![("a", contents(&text("x"))), ("b", Contents::new())])?;
    expect("the ETag of a selected row", &rows[0].etag, &table.row("a").await?.etag)
}

async fn get_with_passes_the_row_that_get_returns(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    let selects: [Option<&[&'static str]>; 3] = [None, Some(&["Text"]), Some(&[])];
    for select in selects {
        let mut passed = Vec::new();
        let mut read = |row: RowRef<'_>| {
            passed.push(Seen::passed(row, select));
            Ok(())
        };
        let exists = table.backend.get_with(&table.name, PARTITION, "r", select, &mut read).await?;
        let row = table.backend.get(&table.name, PARTITION, "r", select).await?;
        expect("whether there is a row", exists, true)?;
        expect("the rows that were passed", passed, row.iter().map(Seen::from).collect())?;
    }
    Ok(())
}

async fn get_with_calls_nothing_for_a_missing_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    let mut calls = 0;
    let mut read = |_: RowRef<'_>| {
        calls += 1;
        Ok(())
    };
    let exists = table.backend.get_with(&table.name, PARTITION, "s", None, &mut read).await?;
    expect("whether there is a row, and the calls", (exists, calls), (false, 0))
}

/// The error of a reader, which no backend returns by itself.
fn stop() -> Error {
    Error::Configuration("the reader stops".to_owned())
}

async fn get_with_returns_the_error_of_its_reader(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    let found = table.backend.get_with(&table.name, PARTITION, "r", None, &mut |_| Err(stop())).await;
    expect("the answer", found.map_err(|error| error.to_string()), Err(stop().to_string()))
}

async fn query_with_passes_the_rows_that_query_returns(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "a"), ("p", "b"), ("p", "c"), ("q", "a"), ("q", "b")]).await?;
    for select in [None, Some((&["Number"]).into()), Some((&[]).into())] {
        let scan = Scan { select, page: 2, ..table.scan() };
        let (mut passed, mut from) = (Vec::new(), None);
        for _ in 0..100 {
            let mut read = |row: RowRef<'_>| {
                passed.push(Seen::passed(row, scan.select.as_deref()));
                Ok(())
            };
            from = table.backend.query_with(&scan, from.as_ref(), &mut read).await?;
            if from.is_none() {
                break;
            }
        }
        ensure(from.is_none(), "the pages: expected an end, found none after 100 pages")?;
        let rows = table.rows(&scan).await?;
        expect("the rows that were passed", passed, rows.iter().map(Seen::from).collect())?;
    }
    Ok(())
}

async fn query_with_returns_the_error_of_its_reader(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "a"), ("p", "b"), ("p", "c")]).await?;
    let mut calls = 0;
    let mut read = |_: RowRef<'_>| {
        calls += 1;
        if calls == 2 { Err(stop()) } else { Ok(()) }
    };
    let found = table.backend.query_with(&table.scan(), None, &mut read).await;
    expect("the answer", found.map_err(|error| error.to_string()), Err(stop().to_string()))?;
    expect("the rows that were passed", calls, 2)
}
