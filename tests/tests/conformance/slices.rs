//! Table slices: a table for each year, month or day of a time.

use std::collections::BTreeSet;

use anyhow::Result;
use futures_util::TryStreamExt;
use table_runtime::{Error, ParseCursorError, Stored, TableEntity, Tables, backend::Backend};
use tests::stores::Store;
use time::{Duration, OffsetDateTime, macros::datetime};

crate::conformance! {
    writes_go_to_the_slice_of_their_time
    what_is_not_there_makes_no_slice
    a_range_reads_the_slices_it_needs
    rows_come_in_the_order_of_time
    only_slices_are_read
    pages_go_on_in_their_slice
    a_cursor_outlives_its_slice
    a_bound_that_no_key_holds_reads_the_slices_there_are
    old_slices_are_dropped
    rows_of_another_order_are_merged
    hash_partitions_of_slices_are_merged
    transactions_stay_in_one_slice
    bulk_writes_reach_every_slice
    days_years_and_partitions_make_slices
    the_first_and_the_last_year_have_slices
    a_scan_reads_slice_after_slice
    sliced_queries_explain_themselves
    a_short_name_begins_those_of_slices
}

/// Newest first, a table each month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Log", slice = month(at), allow_scan)]
struct Line {
    #[partition_key]
    machine: String,
    #[row_key(reverse_time)]
    at: OffsetDateTime,
    #[row_key]
    number: u32,
    text: String,
}

/// The time is not what the row key begins with.
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

/// Hash partitions in each slice.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Readings", slice = month(at))]
struct Reading {
    #[partition_key(hash = 4)]
    sensor: u32,
    #[row_key(time)]
    at: OffsetDateTime,
    value: f64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Days", slice = day(at), separator = "_")]
struct Day {
    #[partition_key]
    name: String,
    #[row_key(time)]
    at: OffsetDateTime,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Years", slice = year(at))]
struct Year {
    #[row_key]
    name: String,
    #[partition_key]
    kind: String,
    #[partition_key]
    at: OffsetDateTime,
}

const MAY: OffsetDateTime = datetime!(2010-05-31 23:59:59.9999999 UTC);
const JUNE: OffsetDateTime = datetime!(2010-06-01 00:00 UTC);
const AUGUST: OffsetDateTime = datetime!(2010-08-15 12:00 UTC);
const JANUARY: OffsetDateTime = datetime!(2011-01-01 00:00 UTC);

fn line(at: OffsetDateTime, number: u32) -> Line {
    Line { machine: "a".to_owned(), at, number, text: format!("line {number}") }
}

fn numbers(lines: &[Stored<Line>]) -> Vec<u32> {
    lines.iter().map(|line| line.number).collect()
}

async fn slices<E: table_runtime::Sliced>(tables: &Tables) -> Result<Vec<String>> {
    Ok(tables.slices::<E>().await?.into_iter().map(|slice| slice.table).collect())
}

/// Two lines in each of four months.
async fn lines(tables: &Tables) -> Result<()> {
    tables.create::<Line>().await?;
    for (at, number) in [JANUARY, AUGUST, JUNE, MAY].into_iter().zip([0, 2, 4, 6]) {
        tables.insert(&line(at, number)).await?;
        tables.insert(&line(at, number + 1)).await?;
    }
    Ok(())
}

async fn writes_go_to_the_slice_of_their_time(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Line>().await?;
    assert_eq!(store.backend.list_tables("Log").await?, [""; 0], "slices are made by writes");
    tables.insert(&line(JUNE, 1)).await?;
    tables.upsert(&line(MAY, 1)).await?;
    assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201006"]);
    // An offset from UTC is none in the key.
    let zone = time::UtcOffset::from_hms(2, 0, 0)?;
    let found = Line::key("a", MAY.to_offset(zone), 1).get(tables).await?;
    assert_eq!(found.map(Stored::into_inner), Some(line(MAY, 1)));

    let mut stored = Line::key("a", JUNE, 1).get(tables).await?.expect("it was inserted");
    "changed".clone_into(&mut stored.text);
    tables.update(&mut stored).await?;
    tables.patch(Line::key("a", MAY, 1), |line| line.text.set("patched")).await?;
    let texts = [Line::key("a", JUNE, 1), Line::key("a", MAY, 1)];
    let texts = tables.get_many(texts).await?.into_iter().flatten().map(|line| line.text.clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["changed", "patched"]);
    let error = tables.insert(&line(JUNE, 1)).await.expect_err("it is there");
    assert!(matches!(&error, Error::AlreadyExists(row) if row.table.ends_with("Log201006")), "{error}");
    stored.at = MAY;
    let error = tables.update(&mut stored).await.expect_err("it would move");
    assert!(matches!(&error, Error::KeyChanged(error) if error.was.table == "Log201006"), "{error}");
    stored.at = JUNE;
    tables.delete(&stored).await?;
    assert!(tables.remove(Line::key("a", MAY, 1)).await?);
    assert_eq!(Line::by_key("a").count(tables).await?, 0);
    Ok(())
}

async fn what_is_not_there_makes_no_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let etag = tables.insert(&line(MAY, 1)).await?;
    let is_not_found = |error: Error| {
        assert!(matches!(&error, Error::NotFound(row) if row.table.ends_with("Log201006")), "{error}");
    };
    assert_eq!(Line::key("a", JUNE, 1).get(tables).await?, None);
    assert!(!Line::key("a", JUNE, 1).exists(tables).await?);
    assert!(!tables.remove(Line::key("a", JUNE, 1)).await?);
    let mut stored = Stored::new(line(JUNE, 1), etag);
    is_not_found(tables.update(&mut stored).await.expect_err("no slice"));
    is_not_found(tables.delete(&stored).await.expect_err("no slice"));
    is_not_found(tables.patch(Line::key("a", JUNE, 1), |line| line.text.set("x")).await.expect_err("no slice"));
    let update = tables.transaction().insert(&line(JUNE, 2)).update(&mut stored);
    is_not_found(update.commit().await.expect_err("no slice"));
    let removed = tables.remove_all([Line::key("a", JUNE, 1), Line::key("a", MAY, 1)]).await?;
    assert_eq!((removed.written, removed.missing), (1, 1));
    assert_eq!(slices::<Line>(tables).await?, ["Log201005"]);
    Ok(())
}

async fn a_range_reads_the_slices_it_needs(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    let expect = |what: &str, requests: usize| assert_eq!(store.probe.requests(), requests, "{what}");
    expect("a record, and eight inserts, four of them with a table to make", 2 + 8 + 2 * 4);
    let window = Line::by_key("a").range(JUNE..AUGUST);
    assert_eq!(numbers(&window.all(tables).await?), [4, 5]);
    expect("June, July, August", 3);
    // The end of a window is not in it: neither is the slice that begins there.
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
    // What has no end is asked for; so is what would be many.
    assert_eq!(numbers(&Line::by_key("a").range(AUGUST..).all(tables).await?), [0, 1, 2, 3]);
    expect("the list, August, January", 3);
    assert_eq!(numbers(&Line::by_key("a").take(2).all(tables).await?), [0, 1]);
    expect("the list, the newest", 2);
    let long = Line::by_key("a").range(datetime!(1990-01-01 00:00 UTC)..datetime!(2030-01-01 00:00 UTC));
    assert_eq!(long.count(tables).await?, 8);
    expect("the list, what is there", 5);
    Ok(())
}

async fn rows_come_in_the_order_of_time(store: &Store) -> Result<()> {
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
    // Rows are told with the slice that they stand in.
    let stored = Line::by_key("b").first(tables).await?.expect("it is there");
    tables.delete(&stored).await?;
    assert_eq!(Line::by_key("b").count(tables).await?, 0);
    Ok(())
}

async fn only_slices_are_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    for name in ["Log", "Log2010", "Log20101", "Log20100601", "Log201013", "Log000001", "LogX201006", "Log2010065"] {
        store.backend.create_table(name).await?;
    }
    let names = ["Log201005", "Log201006", "Log201008", "Log201101"];
    assert_eq!(slices::<Line>(tables).await?, names);
    assert_eq!(Line::by_key("a").count(tables).await?, 8);
    let dropped = tables.drop_slices::<Line>(..datetime!(9999-01-01 00:00 UTC)).await?;
    assert_eq!(dropped.into_iter().map(|slice| slice.table).collect::<Vec<_>>(), names);
    assert_eq!(store.backend.list_tables("Log").await?.len(), 8);
    Ok(())
}

async fn pages_go_on_in_their_slice(store: &Store) -> Result<()> {
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
    // After the third line, in August; lines come to its slice and to others.
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

async fn a_cursor_outlives_its_slice(store: &Store) -> Result<()> {
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

async fn old_slices_are_dropped(store: &Store) -> Result<()> {
    let tables = &store.tables;
    lines(tables).await?;
    let starts: Vec<_> = tables.slices::<Line>().await?.iter().map(|slice| slice.start.to_string()).collect();
    assert_eq!(starts[..2], ["2010-05-01T00:00:00.0000000Z", "2010-06-01T00:00:00.0000000Z"]);
    assert_eq!(tables.drop_slices::<Line>(..MAY).await?, [], "it has not ended");
    // It ends where the next one begins.
    let dropped = tables.drop_slices::<Line>(..JUNE).await?;
    assert_eq!(dropped.iter().map(|slice| slice.table.as_str()).collect::<Vec<_>>(), ["Log201005"]);
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), [0, 1, 2, 3, 4, 5]);
    assert_eq!(Line::key("a", MAY, 6).get(tables).await?, None);
    let dropped = tables.drop_slices::<Line>(..std::time::SystemTime::from(datetime!(2010-12-31 23:00 UTC))).await?;
    assert_eq!(dropped.len(), 2);
    assert_eq!(slices::<Line>(tables).await?, ["Log201101"]);
    // A late write makes its slice anew.
    tables.insert(&line(MAY, 8)).await?;
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), [0, 1, 8]);
    assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201101"]);
    Ok(())
}

async fn rows_of_another_order_are_merged(store: &Store) -> Result<()> {
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
    // Once the page is given, the rows stand in the order of time.
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

async fn transactions_stay_in_one_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let etags = tables.transaction().insert(&line(JUNE, 1)).upsert(&line(JUNE, 2)).commit().await?;
    assert_eq!(etags.len(), 2);
    let across = tables.transaction().insert(&line(JUNE, 3)).insert(&line(MAY, 3)).commit().await;
    let error = across.expect_err("two tables").to_string();
    assert!(error.contains("Log201005") && error.contains("Log201006"), "{error}");
    assert_eq!(slices::<Line>(tables).await?, ["Log201006"]);
    let mut stored = Line::key("a", JUNE, 1).get(tables).await?.expect("it was inserted");
    "changed".clone_into(&mut stored.text);
    let transaction = tables.transaction().update(&mut stored).remove(Line::key("a", JUNE, 2));
    transaction.patch(Line::key("a", JUNE, 2), |line| line.text.set("x")).commit().await.expect_err("twice one row");
    tables.transaction().update(&mut stored).remove(Line::key("a", JUNE, 2)).commit().await?;
    assert_eq!(numbers(&Line::by_key("a").all(tables).await?), [1]);
    Ok(())
}

async fn bulk_writes_reach_every_slice(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let lines = |text: &'static str| {
        (0..300).map(move |number| Line {
            text: text.to_owned(),
            ..line(MAY + Duration::hours(i64::from(number) * 12), number)
        })
    };
    let written = tables.insert_all(lines("first")).await?.written;
    assert_eq!((written, tables.slices::<Line>().await?.len()), (300, 6));
    tables.upsert_all(lines("second")).await?;
    let all = Line::by_key("a").all(tables).await?;
    assert_eq!(numbers(&all), (0..300).rev().collect::<Vec<_>>());
    assert!(all.iter().all(|line| line.text == "second"));
    let keys: Vec<_> = all.iter().map(|line| Line::key(&line.machine, line.at, line.number)).collect();
    tables.remove_all(keys).await?;
    assert_eq!(Line::by_key("a").count(tables).await?, 0);
    Ok(())
}

async fn days_years_and_partitions_make_slices(store: &Store) -> Result<()> {
    let tables = &store.tables;
    for at in [MAY, JUNE, datetime!(2012-02-29 03:00 UTC)] {
        tables.insert(&Day { name: "n_1".to_owned(), at }).await?;
        for kind in ["k", "k l"] {
            tables.insert(&Year { name: "n".to_owned(), kind: kind.to_owned(), at }).await?;
        }
    }
    assert_eq!(slices::<Day>(tables).await?, ["Days20100531", "Days20100601", "Days20120229"]);
    assert_eq!(slices::<Year>(tables).await?, ["Years2010", "Years2012"]);
    let times: Vec<_> = Day::by_key("n_1").all(tables).await?.iter().map(|day| day.at).collect();
    assert_eq!(times, [MAY, JUNE, datetime!(2012-02-29 03:00 UTC)]);
    store.probe.requests();
    // The partition leads to the slice.
    assert_eq!(Year::by_key("k l", JUNE).count(tables).await?, 1);
    assert!(Year::key("k", JUNE, "n").exists(tables).await?);
    assert_eq!(Day::by_key("n_1").range(MAY..JUNE).count(tables).await?, 1);
    assert_eq!(store.probe.requests(), 3);
    Ok(())
}

async fn the_first_and_the_last_year_have_slices(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let (first, last) = (datetime!(0001-01-01 00:00 UTC), datetime!(9999-12-31 23:59:59.9999999 UTC));
    for at in [first, last] {
        tables.insert(&line(at, 1)).await?;
    }
    assert_eq!(slices::<Line>(tables).await?, ["Log000101", "Log999912"]);
    assert_eq!(Line::by_key("a").range(first..=last).count(tables).await?, 2);
    assert_eq!(Line::by_key("a").range(last..).count(tables).await?, 1);
    assert_eq!(Line::by_key("a").range(..=first).count(tables).await?, 1);
    // A year that has no name is an error, before anything is sent.
    store.probe.requests();
    let before = first - Duration::nanoseconds(100);
    let error = tables.insert(&line(before, 1)).await.expect_err("the year 0");
    assert!(matches!(&error, Error::Key(error) if error.to_string().contains("0001 to 9999")), "{error}");
    let error = tables.drop_slices::<Line>(..before).await.expect_err("the year 0");
    assert!(matches!(error, Error::Key(_)), "{error}");
    assert_eq!(store.probe.requests(), 0);
    // As the bound of a range, it is an open end.
    assert_eq!(Line::by_key("a").range(before..).count(tables).await?, 2);
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

async fn sliced_queries_explain_themselves(_: &Store) -> Result<()> {
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

/// No table could be called so, but its slices can.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Ev", slice = month(at))]
struct Event {
    #[partition_key]
    source: String,
    #[row_key(time)]
    at: OffsetDateTime,
}

async fn a_short_name_begins_those_of_slices(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Event>().await?;
    for at in [JUNE, MAY] {
        tables.insert(&Event { source: "a".to_owned(), at }).await?;
    }
    assert_eq!(slices::<Event>(tables).await?, ["Ev201005", "Ev201006"]);
    let found = Event::by_key("a").all(tables).await?;
    assert_eq!(found.iter().map(|event| event.at).collect::<Vec<_>>(), [MAY, JUNE]);
    assert_eq!(Event::by_key("a").range(JUNE..).count(tables).await?, 1);
    Ok(())
}

/// Sliced by a time whose type reaches past the years of the service.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Beats", slice = month(at))]
struct Beat {
    #[partition_key]
    machine: String,
    #[row_key(reverse_time)]
    at: chrono::DateTime<chrono::Utc>,
}

async fn a_bound_that_no_key_holds_reads_the_slices_there_are(store: &Store) -> Result<()> {
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
