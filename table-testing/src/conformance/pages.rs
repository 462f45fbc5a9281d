//! Pages of a scan: their size, and where each one begins.
//!
//! A page may have fewer rows than the scan allows, or none, and still have a next one. So a case reads until there is no
//! next page.

use std::ops::Bound;

use table_store::{
    Condition, Operator, RowRef, Value,
    backend::{Action, BackendExt, Continuation, IfMatch, KeyRange, Page, Partitions, Scan},
};

use super::{
    contract,
    expect::{Checked, Failure, ensure, expect, some},
    table::{PARTITION, Table, number, owned},
};

contract! { "pages":
    pages_have_each_row_once
    a_page_has_at_most_a_thousand_rows
    pages_cross_partitions
    pages_stay_in_their_range
    pages_stay_in_their_partition
    an_empty_table_has_an_end
    a_scan_whose_filter_drops_nearly_all_rows_goes_on
    a_page_after_the_first_has_the_selected_properties
    a_continuation_can_be_used_again
    a_continuation_outlives_the_row_before_it
    a_row_that_is_deleted_between_pages_is_not_read
    a_row_that_is_inserted_between_pages_is_read_if_it_comes_later
    a_row_that_is_changed_between_pages_is_read_as_it_is
    a_continuation_at_the_end_has_an_end
}

/// Returns keys of one partition: `k00`, `k01`, ….
fn keys(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("k{n:02}")).collect()
}

/// Inserts rows with these keys in the partition [`PARTITION`].
async fn fill(table: &Table<'_>, keys: &[String]) -> Checked {
    table.fill(&keys.iter().map(|key| (PARTITION, key)).collect::<Vec<_>>()).await
}

/// Returns the row keys of a page.
fn row_keys(page: &Page) -> Vec<String> {
    page.rows.iter().map(|row| row.row_key.to_owned()).collect()
}

/// Reads pages until there are rows, and some are left. Returns the row keys, and where the next page begins.
async fn begin(table: &Table<'_>, scan: &Scan) -> Result<(Vec<String>, Continuation), Failure> {
    let mut from = None;
    loop {
        let page = table.backend.query(scan, from.as_ref()).await?;
        let next = some("a next page of a scan that is not at its end", page.next)?;
        if !page.rows.is_empty() {
            return Ok((page.rows.iter().map(|row| row.row_key.to_owned()).collect(), next));
        }
        from = Some(next);
    }
}

/// Reads the rows from a continuation on.
async fn rest(table: &Table<'_>, scan: &Scan, from: &Continuation) -> Result<Vec<String>, Failure> {
    let (mut keys, mut from) = (Vec::new(), Some(from.clone()));
    for _ in 0..1000 {
        let page = table.backend.query(scan, from.as_ref()).await?;
        keys.extend(row_keys(&page));
        from = page.next;
        if from.is_none() {
            return Ok(keys);
        }
    }
    Err(Failure::new("the pages of a scan: expected an end, found none after 1000 pages"))
}

async fn pages_have_each_row_once(table: &Table<'_>) -> Checked {
    let keys = keys(12);
    fill(table, &keys).await?;
    for page in [1, 2, 3, 5, 11, 12, 13, 1000] {
        let scan = Scan { page, ..table.scan() };
        expect(format!("the rows in pages of {page}"), table.row_keys(&scan).await?, keys.clone())?;
    }
    Ok(())
}

async fn a_page_has_at_most_a_thousand_rows(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = (0..1001).map(|n| format!("{n:04}")).collect();
    fill(table, &keys).await?;
    expect("the rows in pages of 1000", table.row_keys(&table.scan()).await?, keys)
}

async fn pages_cross_partitions(table: &Table<'_>) -> Checked {
    let keys = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("c", "1"), ("c", "2")];
    table.fill(&keys).await?;
    let expected = keys.map(|(partition_key, row_key)| (partition_key.to_owned(), row_key.to_owned())).to_vec();
    for page in [1, 2, 4, 5, 6] {
        let scan = Scan { page, ..table.scan() };
        expect(format!("the rows in pages of {page}"), table.keys(&scan).await?, expected.clone())?;
    }
    Ok(())
}

async fn pages_stay_in_their_range(table: &Table<'_>) -> Checked {
    let keys = keys(10);
    fill(table, &keys).await?;
    let rows = KeyRange { from: Bound::Excluded(keys[1].clone()), to: Bound::Included(keys[7].clone()) };
    for page in 1..8 {
        let partitions = Partitions::One(PARTITION.to_owned());
        let scan = Scan { page, partitions, rows: rows.clone(), ..table.scan() };
        expect(format!("the rows in pages of {page}"), table.row_keys(&scan).await?, keys[2..8].to_vec())?;
    }
    Ok(())
}

async fn pages_stay_in_their_partition(table: &Table<'_>) -> Checked {
    table.fill(&[("o", "1"), ("p", "1"), ("p", "2"), ("p", "3"), ("q", "0"), ("q", "4")]).await?;
    for page in 1..4 {
        let scan = Scan { page, partitions: Partitions::One("p".to_owned()), ..table.scan() };
        expect(format!("the rows in pages of {page}"), table.row_keys(&scan).await?, owned(&["1", "2", "3"]))?;
    }
    Ok(())
}

async fn an_empty_table_has_an_end(table: &Table<'_>) -> Checked {
    expect("the rows", table.row_keys(&Scan { page: 1, ..table.scan() }).await?, Vec::new())
}

async fn a_scan_whose_filter_drops_nearly_all_rows_goes_on(table: &Table<'_>) -> Checked {
    let keys: Vec<_> = (0..300).map(|n| format!("{n:03}")).collect();
    fill(table, &keys).await?;
    let equal = |number| {
        let value = Value::Int32(number);
        Condition::Compare { property: "Number".into(), operator: Operator::Eq, value }
    };
    let filter = Condition::Or(equal(7).into(), equal(298).into());
    for page in [1, 2, 10] {
        let scan = Scan { page, filter: Some(filter.clone()), ..table.scan() };
        expect(format!("the rows in pages of {page}"), table.row_keys(&scan).await?, owned(&["007", "298"]))?;
    }
    Ok(())
}

async fn a_page_after_the_first_has_the_selected_properties(table: &Table<'_>) -> Checked {
    for (n, row_key) in (0..).zip(["a", "b", "c"]) {
        table.write(row_key, Action::Insert(super::table::both(n, row_key))).await?;
    }
    let scan = Scan { page: 1, select: Some((&["Number"]).into()), ..table.scan() };
    let found: Vec<_> = table.rows(&scan).await?.into_iter().map(|row| row.properties).collect();
    expect("the properties", found, (0..3).map(number).collect())
}

async fn a_continuation_can_be_used_again(table: &Table<'_>) -> Checked {
    let keys = keys(6);
    fill(table, &keys).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (read, next) = begin(table, &scan).await?;
    let first = rest(table, &scan, &next).await?;
    // As after the program was started again: only the texts are left.
    let copy = Continuation { partition_key: next.partition_key.clone(), row_key: next.row_key.clone() };
    expect("the rows of the second use", rest(table, &scan, &copy).await?, first.clone())?;
    expect("all rows", [read, first].concat(), keys)
}

async fn a_continuation_outlives_the_row_before_it(table: &Table<'_>) -> Checked {
    let keys = keys(6);
    fill(table, &keys).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (read, next) = begin(table, &scan).await?;
    for key in &read {
        table.write(key, Action::Delete(IfMatch::Any)).await?;
    }
    expect("the rows after the deleted ones", rest(table, &scan, &next).await?, keys[read.len()..].to_vec())
}

async fn a_row_that_is_deleted_between_pages_is_not_read(table: &Table<'_>) -> Checked {
    let keys = keys(6);
    fill(table, &keys).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (read, next) = begin(table, &scan).await?;
    // A continuation may name the next row, which is deleted here.
    table.write(&keys[read.len()], Action::Delete(IfMatch::Any)).await?;
    table.write(&keys[5], Action::Delete(IfMatch::Any)).await?;
    expect("the rows that are left", rest(table, &scan, &next).await?, keys[read.len() + 1..5].to_vec())
}

async fn a_row_that_is_inserted_between_pages_is_read_if_it_comes_later(table: &Table<'_>) -> Checked {
    let keys = keys(6);
    fill(table, &keys).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (read, next) = begin(table, &scan).await?;
    table.write("a", Action::Insert(number(9))).await?;
    table.write("k041", Action::Insert(number(9))).await?;
    table.write("z", Action::Insert(number(9))).await?;
    let mut expected = keys[read.len()..].to_vec();
    expected.extend(owned(&["k041", "z"]));
    expected.sort_unstable();
    expect("the later rows", rest(table, &scan, &next).await?, expected)
}

async fn a_row_that_is_changed_between_pages_is_read_as_it_is(table: &Table<'_>) -> Checked {
    fill(table, &keys(4)).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (_, next) = begin(table, &scan).await?;
    table.write("k03", Action::Upsert(number(9))).await?;
    let (mut from, mut found) = (Some(next), None);
    for _ in 0..1000 {
        let page = table.backend.query(&scan, from.as_ref()).await?;
        found = page.rows.iter().find(|row| row.row_key == "k03").map(RowRef::to_row).or(found);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    expect("the row that was changed", found.map(|row| row.properties), Some(number(9)))
}

async fn a_continuation_at_the_end_has_an_end(table: &Table<'_>) -> Checked {
    let keys = keys(6);
    fill(table, &keys).await?;
    let scan = Scan { page: 2, ..table.scan() };
    let (read, next) = begin(table, &scan).await?;
    for key in &keys[read.len()..] {
        table.write(key, Action::Delete(IfMatch::Any)).await?;
    }
    let rest = rest(table, &scan, &next).await?;
    ensure(rest.is_empty(), format!("the rows that are left: expected none, found {rest:?}"))
}
