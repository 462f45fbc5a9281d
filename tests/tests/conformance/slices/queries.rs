//! Queries over slices.

use std::collections::BTreeSet;

use anyhow::Result;
use futures_util::TryStreamExt;
use table_runtime::{Error, TableEntity, error::ParseCursorError};
use tests::stores::Store;
use time::{Duration, OffsetDateTime, macros::datetime};

use super::fixtures::{AUGUST, JANUARY, JUNE, Line, MAY, line, lines, numbers, slices};

crate::conformance! {
    a_range_reads_the_slices_it_needs
    rows_of_all_slices_come_in_the_order_of_time
    pages_continue_in_their_slice
    a_cursor_remains_valid_after_its_slice_is_dropped
    a_bound_outside_the_range_of_keys_reads_the_existing_slices
    slices_are_merged_if_the_row_key_does_not_begin_with_the_time
    hash_partitions_of_slices_are_merged
    a_scan_reads_slice_after_slice
    explain_names_the_slices
}

/// Entity whose row key does not begin with the time.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visits", slice = month(at))]
struct Visit {
    #[partition_key]
    site: String,
    #[row_key]
    page: String,
    #[row_key(time)]
    at: OffsetDateTime,
}

/// Entity with hash partitions in each slice.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Readings", slice = month(at))]
struct Reading {
    #[partition_key(hash = 4)]
    sensor: u32,
    #[row_key(time)]
    at: OffsetDateTime,
    value: f64,
}

async fn a_range_reads_the_slices_it_needs(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    let expect = |what: &str, requests: usize| assert_eq!(store.probe.requests(), requests, "{what}");
    expect("a record, and eight inserts, four of them with a table to make", 2 + 8 + 2 * 4);
    let window = Line::by_key("a").range(JUNE..AUGUST);
    assert_eq!(numbers(&window.all(tables).await?), [4, 5]);
    expect("June, July, August", 3);
    // A range excludes its end, and thus also the slice that begins there.
    let june = Line::by_key("a").range(JUNE..datetime!(2010-07-01 00:00 UTC));
    assert_eq!(numbers(&june.all(tables).await?), [4, 5]);
    expect("June", 1);
    assert_eq!(numbers(&Line::by_key("a").range(MAY..=JUNE).all(tables).await?), [4, 5, 6, 7]);
    expect("May, June", 2);
    assert_eq!(numbers(&Line::by_key("a").range(JUNE..=JUNE).all(tables).await?), [4, 5]);
    expect("one moment", 1);
    assert_eq!(numbers(&Line::by_key("a").eq(MAY).all(tables).await?), [6, 7]);
    expect("May", 1);
    assert_eq!(numbers(&Line::by_key("a").eq(MAY).range(7..).all(tables).await?), [7]);
    expect("May, and a number", 1);
    assert!(Line::by_key("a").range(AUGUST..JUNE).all(tables).await?.is_empty());
    expect("nothing", 0);
    // If a bound is missing or the range has many slices, the existing slices are listed first.
    assert_eq!(numbers(&Line::by_key("a").range(AUGUST..).all(tables).await?), [0, 1, 2, 3]);
    expect("the list, August, January", 3);
    assert_eq!(numbers(&Line::by_key("a").take(2).all(tables).await?), [0, 1]);
    expect("the list, the newest", 2);
    let long = Line::by_key("a").range(datetime!(1990-01-01 00:00 UTC)..datetime!(2030-01-01 00:00 UTC));
    assert_eq!(long.count(tables).await?, 8);
    expect("the list, the existing slices", 5);
    Ok(())
}

async fn rows_of_all_slices_come_in_the_order_of_time(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    tables.insert(&Line { machine: "b".to_owned(), ..line(AUGUST, 9) }).await?;
    let all: Vec<_> = (0..8).collect();
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), all);
    let streamed: Vec<_> = Line::by_key("a").stream(tables).map_ok(|line| line.number).try_collect().await?;
    assert_eq!(streamed, all);
    assert_eq!(Line::by_key("a").first(tables).await?.map(|line| line.number), Some(0));
    assert_eq!(Line::by_key("a").filter(|line| line.text.eq("line 5")).count(tables).await?, 1);
    assert_eq!(numbers(&Line::by_key("a").take(5).all(tables).await?), all[..5]);
    // A stored row remembers its slice.
    let stored = Line::by_key("b").first(tables).await?.expect("the row");
    tables.delete(&stored).await?;
    assert_eq!(Line::by_key("b").count(tables).await?, 0);
    Ok(())
}

async fn pages_continue_in_their_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    let all: Vec<_> = (0..8).collect();
    let query = || Line::by_key("a").range(MAY..=JANUARY);
    for size in 1..10 {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = query().page(tables, size, cursor.as_deref()).await?;
            found.extend(numbers(&page.entities));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "pages of {size}");
    }
    // The cursor is after the third line, in August. Lines are inserted into this and other slices.
    let cursor = query().page(tables, 3, None).await?.next;
    for (at, number) in [(JANUARY, 9), (AUGUST, 9), (datetime!(2010-07-01 00:00 UTC), 9), (JUNE, 9)] {
        tables.insert(&line(at, number)).await?;
    }
    store.probe.requests();
    let rest = query().page(tables, 100, cursor.as_deref()).await?;
    assert_eq!(numbers(&rest.entities), [3, 9, 9, 4, 5, 9, 6, 7]);
    assert_eq!(store.probe.requests(), 4, "no slice before");
    let other = Line::by_key("a").range(MAY..JANUARY).page(tables, 3, cursor.as_deref()).await;
    let error = other.expect_err("another query");
    assert!(matches!(error, Error::Cursor(ParseCursorError::OtherQuery)), "{error}");
    Ok(())
}

async fn a_cursor_remains_valid_after_its_slice_is_dropped(store: &Store) -> Result<()> {
    let tables = &store.tables;
    for day in 1..4 {
        for month in [time::Month::May, time::Month::June, time::Month::July] {
            let at = time::Date::from_calendar_date(2010, month, day)?.midnight().assume_utc();
            tables.insert(&Visit { site: "s".to_owned(), page: "p".to_owned(), at }).await?;
        }
    }
    let query = || Visit::by_key("s").eq("p");
    let cursor = query().page(tables, 2, None).await?.next;
    tables.drop_slices::<Visit>(..JUNE).await?;
    let rest = query().page(tables, 10, cursor.as_deref()).await?;
    let days: Vec<_> = rest.entities.iter().map(|visit| (visit.at.month() as u8, visit.at.day())).collect();
    assert_eq!(days, [(6, 1), (6, 2), (6, 3), (7, 1), (7, 2), (7, 3)]);
    Ok(())
}

async fn slices_are_merged_if_the_row_key_does_not_begin_with_the_time(store: &Store) -> Result<()> {
    let tables = &store.tables;
    for page in ["a", "b", "b c", "d"] {
        for at in [JANUARY, MAY, AUGUST] {
            tables.insert(&Visit { site: "s".to_owned(), page: page.to_owned(), at }).await?;
        }
    }
    let all = Visit::by_key("s").all(tables).await?;
    let order: Vec<_> = all.iter().map(|visit| (visit.page.as_str(), visit.at)).collect();
    let expected: Vec<_> =
        ["a", "b", "b c", "d"].into_iter().flat_map(|page| [MAY, AUGUST, JANUARY].map(|at| (page, at))).collect();
    assert_eq!(order, expected);
    let some = Visit::by_key("s").range("b".."d").take(4).all(tables).await?;
    assert_eq!(some.iter().map(|visit| (visit.page.as_str(), visit.at)).collect::<Vec<_>>(), expected[3..7]);
    for size in 1..7 {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Visit::by_key("s").page(tables, size, cursor.as_deref()).await?;
            found.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "pages of {size}");
    }
    // With the page given, the range over the time selects the slices.
    store.probe.requests();
    assert_eq!(Visit::by_key("s").eq("b").range(MAY..JUNE).count(tables).await?, 1);
    assert_eq!(store.probe.requests(), 1);
    assert!(Visit::key("s", "b", MAY).exists(tables).await?);
    Ok(())
}

async fn hash_partitions_of_slices_are_merged(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let times = (0..40).map(|day| MAY + Duration::days(day * 2));
    let readings = times.flat_map(|at| (0..3).map(move |sensor| Reading { sensor, at, value: f64::from(sensor) }));
    let readings: Vec<_> = readings.collect();
    tables.upsert_all(readings.clone()).await?;
    assert_eq!(
        slices::<Reading>(tables).await?,
        ["Readings201005", "Readings201006", "Readings201007", "Readings201008"]
    );
    let all = Reading::by_key().all(tables).await?;
    assert!(all.is_sorted_by(|left, right| left.at <= right.at));
    let distinct: BTreeSet<_> = readings
        .iter()
        .map(|reading| Reading::key(reading.sensor, reading.at).explain())
        .map(|explain| (explain.row_key().map(str::to_owned), explain.partition_key().map(str::to_owned)))
        .collect();
    assert_eq!(all.len(), distinct.len());
    store.probe.requests();
    let window = Reading::by_key().range(JUNE..datetime!(2010-06-08 00:00 UTC));
    assert_eq!(window.explain().requests(), 4);
    assert!(window.all(tables).await?.iter().all(|reading| reading.at > MAY));
    assert_eq!(store.probe.requests(), 4);
    for size in [1, 7, 50] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Reading::by_key().page(tables, size, cursor.as_deref()).await?;
            found.extend(page.entities);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "pages of {size}");
    }
    Ok(())
}

async fn a_scan_reads_slice_after_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    tables.insert(&Line { machine: "0".to_owned(), ..line(JUNE, 10) }).await?;
    let expected = [0, 1, 2, 3, 10, 4, 5, 6, 7];
    assert_eq!(numbers(&Line::scan().all(tables).await?), expected);
    for size in 1..10 {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = Line::scan().page(tables, size, cursor.as_deref()).await?;
            found.extend(numbers(&page.entities));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "pages of {size}");
    }
    Ok(())
}

async fn explain_names_the_slices(_: &Store) -> Result<()> {
    let tables = |explain: &table_runtime::Explain| explain.tables().map(str::to_owned).collect::<Vec<_>>();
    let window = Line::by_key("a").range(MAY..AUGUST).explain();
    assert_eq!(tables(&window), ["Log201008", "Log201007", "Log201006", "Log201005"]);
    assert_eq!((window.cost(), window.requests()), ("range", 4));
    assert_eq!(Line::by_key("a").range(MAY..AUGUST).take(3).explain().requests(), 1);
    let tail = Line::by_key("a").take(3).explain();
    assert_eq!(tail.to_string(), "range of LogYYYYMM, first 3, 1 request at least: PartitionKey eq 'a'");
    let point = Line::key("a", JUNE, 1).explain();
    assert_eq!((tables(&point), point.requests()), (vec!["Log201006".to_owned()], 1));
    assert_eq!(Line::layout().to_string().lines().next(), Some("Log, a table for each month of at"),);
    Ok(())
}

/// Entity with a time type that holds more years than the service.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Beats", slice = month(at))]
struct Beat {
    #[partition_key]
    machine: String,
    #[row_key(reverse_time)]
    at: chrono::DateTime<chrono::Utc>,
}

async fn a_bound_outside_the_range_of_keys_reads_the_existing_slices(store: &Store) -> Result<()> {
    use chrono::{DateTime, Utc};

    let tables = &store.tables;
    let at = |moment: OffsetDateTime| DateTime::from_timestamp(moment.unix_timestamp(), 0).expect("a time");
    for moment in [MAY, JUNE, AUGUST, JANUARY] {
        tables.insert(&Beat { machine: "a".into(), at: at(moment) }).await?;
    }
    let beats = || Beat::by_key("a");
    let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    assert_eq!(beats().range(at(JUNE)..last).count(tables).await?, 3);
    assert_eq!(beats().range(first..=at(JUNE)).count(tables).await?, 2);
    assert_eq!(beats().range(first..last).count(tables).await?, 4);
    store.probe.requests();
    assert_eq!(beats().range(last..).count(tables).await?, 0);
    assert_eq!(beats().range(..first).all(tables).await?.len(), 0);
    assert_eq!(store.probe.requests(), 0, "there is nothing to read");
    Ok(())
}
