//! Writes to slices: an entity is stored in the table of its year, month or day.

use anyhow::Result;
use table_runtime::{Error, Stored, TableEntity, backend::BackendExt};
use tests::stores::Store;
use time::{Duration, OffsetDateTime, macros::datetime};

use super::fixtures::{JUNE, Line, MAY, line, numbers, slices};

crate::conformance! {
    writes_go_to_the_slice_of_their_time
    failed_writes_and_reads_create_no_slice
    a_transaction_is_limited_to_one_slice
    bulk_writes_reach_every_slice
    slices_may_be_days_or_years_and_follow_from_the_partition_key
    the_first_and_the_last_year_can_be_sliced
    the_name_of_a_sliced_table_may_be_short
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

async fn writes_go_to_the_slice_of_their_time(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Line>().await?;
    assert_eq!(store.backend.list_tables("Log").await?, [""; 0], "slices are made by writes");
    tables.insert(&line(JUNE, 1)).await?;
    tables.upsert(&line(MAY, 1)).await?;
    assert_eq!(slices::<Line>(tables).await?, ["Log201005", "Log201006"]);
    // The offset from UTC makes no difference.
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
    let error = tables.insert(&line(JUNE, 1)).await.expect_err("the line exists");
    assert!(matches!(&error, Error::AlreadyExists(row) if row.table.ends_with("Log201006")), "{error}");
    stored.at = MAY;
    let error = tables.update(&mut stored).await.expect_err("the line would move");
    assert!(matches!(&error, Error::KeyChanged(error) if error.was.table == "Log201006"), "{error}");
    stored.at = JUNE;
    tables.delete(&stored).await?;
    assert!(tables.remove(Line::key("a", MAY, 1)).await?);
    assert_eq!(Line::by_key("a").count(tables).await?, 0);
    Ok(())
}

async fn failed_writes_and_reads_create_no_slice(store: &Store) -> Result<()> {
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

async fn a_transaction_is_limited_to_one_slice(store: &Store) -> Result<()> {
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

async fn slices_may_be_days_or_years_and_follow_from_the_partition_key(store: &Store) -> Result<()> {
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
    // The partition key has the time, so it determines the slice.
    assert_eq!(Year::by_key("k l", JUNE).count(tables).await?, 1);
    assert!(Year::key("k", JUNE, "n").exists(tables).await?);
    assert_eq!(Day::by_key("n_1").range(MAY..JUNE).count(tables).await?, 1);
    assert_eq!(store.probe.requests(), 3);
    Ok(())
}

async fn the_first_and_the_last_year_can_be_sliced(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let (first, last) = (datetime!(0001-01-01 00:00 UTC), datetime!(9999-12-31 23:59:59.9999999 UTC));
    for at in [first, last] {
        tables.insert(&line(at, 1)).await?;
    }
    assert_eq!(slices::<Line>(tables).await?, ["Log000101", "Log999912"]);
    assert_eq!(Line::by_key("a").range(first..=last).count(tables).await?, 2);
    assert_eq!(Line::by_key("a").range(last..).count(tables).await?, 1);
    assert_eq!(Line::by_key("a").range(..=first).count(tables).await?, 1);
    // A year outside 1 to 9999 is refused before anything is sent.
    store.probe.requests();
    let before = first - Duration::nanoseconds(100);
    let error = tables.insert(&line(before, 1)).await.expect_err("the year 0");
    assert!(matches!(&error, Error::Key(error) if error.to_string().contains("0001 to 9999")), "{error}");
    let error = tables.drop_slices::<Line>(..before).await.expect_err("the year 0");
    assert!(matches!(error, Error::Key(_)), "{error}");
    assert_eq!(store.probe.requests(), 0);
    // As the bound of a range, it is unbounded.
    assert_eq!(Line::by_key("a").range(before..).count(tables).await?, 2);
    Ok(())
}

/// Entity whose name is too short for a table, but not for its slices.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Ev", slice = month(at))]
struct Event {
    #[partition_key]
    source: String,
    #[row_key(time)]
    at: OffsetDateTime,
}

async fn the_name_of_a_sliced_table_may_be_short(store: &Store) -> Result<()> {
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
