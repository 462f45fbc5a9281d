//! Values that no key can hold: they are refused before anything is sent.

#![allow(clippy::struct_field_names, reason = "named as in the pattern")]
#![allow(clippy::items_after_statements, reason = "an entity is declared where it is used")]

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use table_runtime::{Error, Point, TableEntity, key::KeyProblem};
use tests::stores::Store;
use time::{Month, OffsetDateTime, UtcOffset};

crate::conformance! {
    a_number_with_too_many_digits_is_refused
    a_decimal_with_too_many_places_or_digits_is_refused
    a_time_outside_the_years_1_to_9999_is_refused
    a_date_outside_the_years_1_to_9999_is_refused
    a_key_that_is_too_long_is_refused
    a_character_that_raw_cannot_hold_is_refused
    a_leap_second_is_the_last_tick_before_the_next_second
}

/// Checks that every write and read of the entity is refused with this message before anything is sent.
async fn refused<E: TableEntity>(store: &Store, entity: E, point: Point<E>, message: &str) {
    store.probe.requests();
    let of_key = |result: Result<String, Error>| match result {
        Err(Error::Key(error)) => error.to_string(),
        other => panic!("{other:?}, not: {message}"),
    };
    assert_eq!(of_key(store.tables.insert(&entity).await.map(show)), message);
    assert_eq!(of_key(store.tables.upsert(&entity).await.map(show)), message);
    assert_eq!(point.explain().problem(), Some(message));
    assert_eq!(of_key(point.clone().exists(&store.tables).await.map(show)), message);
    assert_eq!(of_key(store.tables.remove(point).await.map(show)), message);
    assert_eq!(store.probe.requests(), 0);
}

fn show(value: impl fmt::Debug) -> String {
    format!("{value:?}")
}

#[derive(TableEntity)]
#[table(name = "Employees")]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(pad = 8)]
    employee_id: u32,
    last_name: String,
}

async fn a_number_with_too_many_digits_is_refused(store: &Store) -> Result<()> {
    let employee = Employee { department: "Sales".to_owned(), employee_id: 123_456_789, last_name: String::new() };
    let message = "Employees, layout `key`, key part `employee_id`: 123456789 does not fit 8 digits";
    refused(store, employee, Employee::key("Sales", 123_456_789), message).await;

    #[derive(TableEntity)]
    struct Ranked {
        #[partition_key]
        list: String,
        #[row_key(reverse, pad = 3)]
        rank: u16,
        #[row_key(pad = 2)]
        offset: i64,
    }
    let message = "Ranked, layout `key`, key part `rank`: 1000 does not fit 3 digits";
    refused(store, Ranked { list: "a".to_owned(), rank: 1000, offset: 0 }, Ranked::key("a", 1000, 0), message).await;
    let message = "Ranked, layout `key`, key part `offset`: -101 does not fit 2 digits";
    refused(store, Ranked { list: "a".to_owned(), rank: 999, offset: -101 }, Ranked::key("a", 999, -101), message)
        .await;
    Ok(())
}

async fn a_decimal_with_too_many_places_or_digits_is_refused(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    struct Price {
        #[partition_key]
        shop: String,
        #[row_key(scale = 2)]
        amount: Decimal,
        #[row_key(scale = 10, reverse, pad = 11)]
        rate: Decimal,
    }
    let thousandth = Decimal::new(1005, 3);
    for (amount, rate, problem) in [
        (thousandth, Decimal::ONE, "key part `amount`: 1.005 has more than 2 decimal places"),
        (Decimal::MAX, Decimal::ONE, "key part `amount`: 79228162514264337593543950335 does not fit 29 digits"),
        (Decimal::ONE, Decimal::new(-101, 1), "key part `rate`: -10.1 does not fit 11 digits"),
        // More digits than the numbers that keys can hold with any `pad`.
        (Decimal::ONE, Decimal::MIN, "key part `rate`: -79228162514264337593543950335 does not fit 38 digits"),
    ] {
        let message = format!("Price, layout `key`, {problem}");
        refused(store, Price { shop: "a".to_owned(), amount, rate }, Price::key("a", amount, rate), &message).await;
    }
    Ok(())
}

async fn a_time_outside_the_years_1_to_9999_is_refused(store: &Store) -> Result<()> {
    macro_rules! refused_time {
        ($type:ty, $value:expr, $seconds:literal) => {{
            #[derive(TableEntity)]
            struct Event {
                #[partition_key]
                name: String,
                #[row_key]
                at: $type,
            }
            let at = $value;
            let problem = concat!("the time ", $seconds, " s of Unix time is outside the years 0001 to 9999");
            let message = format!("Event, layout `key`, key part `at`: {problem}");
            refused(store, Event { name: "a".to_owned(), at }, Event::key("a", at), &message).await;
        }};
    }
    let new_year = time::Date::from_calendar_date(9999, Month::December, 31).unwrap();
    let late = time::PrimitiveDateTime::new(new_year, time::Time::from_hms(23, 30, 0).unwrap());
    refused_time!(OffsetDateTime, late.assume_offset(UtcOffset::from_hms(-1, 0, 0).unwrap()), "253402302600");
    refused_time!(OffsetDateTime, OffsetDateTime::from_unix_timestamp(-62_135_596_801)?, "-62135596801");
    refused_time!(DateTime<Utc>, DateTime::from_timestamp(253_402_300_800, 0).unwrap(), "253402300800");
    refused_time!(DateTime<Utc>, DateTime::from_timestamp(-62_135_596_801, 999_999_999).unwrap(), "-62135596801");
    refused_time!(
        jiff::Timestamp,
        jiff::Timestamp::from_nanosecond(-62_135_596_800_000_000_001).unwrap(),
        "-62135596801"
    );
    let late = SystemTime::UNIX_EPOCH + Duration::from_hours(70_389_528);
    refused_time!(SystemTime, late, "253402300800");
    Ok(())
}

async fn a_date_outside_the_years_1_to_9999_is_refused(store: &Store) -> Result<()> {
    macro_rules! refused_date {
        ($type:ty, $value:expr, $shown:literal) => {{
            #[derive(TableEntity)]
            struct Event {
                #[partition_key]
                day: $type,
                #[row_key]
                name: String,
            }
            let day = $value;
            let problem = concat!("the date ", $shown, " is outside the years 0001 to 9999");
            let message = format!("Event, layout `key`, key part `day`: {problem}");
            refused(store, Event { day, name: "a".to_owned() }, Event::key(day, "a"), &message).await;
        }};
    }
    refused_date!(time::Date, time::Date::from_calendar_date(0, Month::May, 28).unwrap(), "0-05-28");
    refused_date!(NaiveDate, NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap(), "10000-01-01");
    refused_date!(jiff::civil::Date, jiff::civil::date(-1, 12, 31), "-1-12-31");
    Ok(())
}

/// The limit is 512 UTF-16 code units. A character above U+FFFF has two.
async fn a_key_that_is_too_long_is_refused(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    struct Page {
        #[partition_key]
        site: String,
        #[row_key]
        path: String,
        #[row_key]
        version: u8,
    }
    let fits = |site: &str, path: &str| assert_eq!(Page::key(site, path, 1).explain().problem(), None);
    fits(&"a".repeat(512), &"ß".repeat(508));
    fits(&"\u{10FFFF}".repeat(256), &"\u{FFFF}".repeat(508));
    fits(&"/".repeat(170), &"\u{10000}".repeat(254));

    let too_long = async |site: &str, path: &str, message: &str| {
        let page = Page { site: site.to_owned(), path: path.to_owned(), version: 1 };
        refused(store, page, Page::key(site, path, 1), message).await;
    };
    let message =
        "Page, layout `key`, key part `site`: it makes the PartitionKey 513 UTF-16 units long; the limit is 512";
    too_long(&"a".repeat(513), "a", message).await;
    too_long(&"/".repeat(171), "a", message).await;
    too_long(&("a".to_owned() + &"\u{10000}".repeat(256)), "a", message).await;
    let message = "Page, layout `key`, key part `path`: it makes the RowKey 600 UTF-16 units long; the limit is 512";
    too_long("a", &"ß".repeat(600), message).await;
    too_long("a", &"\u{10000}".repeat(300), message).await;
    let message = "Page, layout `key`, key part `version`: it makes the RowKey 513 UTF-16 units long; the limit is 512";
    too_long("a", &"a".repeat(509), message).await;

    let long = "a".repeat(600);
    let message = "Page, layout `key`, key part `path`: it makes the RowKey 600 UTF-16 units long; the limit is 512";
    assert_eq!(Page::by_key("a").starts_with(&long).explain().problem(), Some(message));
    assert_eq!(Page::by_key("a").range(..&*long).explain().problem(), Some(message));
    Ok(())
}

#[derive(TableEntity)]
#[table(separator = "_")]
struct Separated {
    #[partition_key]
    a: String,
    #[partition_key(raw)]
    b: String,
    #[row_key]
    c: String,
    #[row_key(raw)]
    d: String,
    #[row_key(reverse)]
    e: i8,
    #[row_key(raw)]
    f: String,
}

async fn a_character_that_raw_cannot_hold_is_refused(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    struct File {
        #[partition_key(raw)]
        folder: String,
        #[row_key]
        name: String,
    }
    for (folder, character) in
        [("a/b", '/'), ("a\\b#", '\\'), ("#?", '#'), ("a?", '?'), ("a\tb", '\t'), ("\u{9F}", '\u{9F}')]
    {
        let problem = KeyProblem::Character { value: folder.to_owned(), character };
        let message = format!("File, layout `key`, key part `folder`: {problem}");
        assert!(message.contains(&format!("{folder:?} holds {character:?}")), "{message}");
        let file = File { folder: folder.to_owned(), name: "a".to_owned() };
        refused(store, file, File::key(folder, "a"), &message).await;
    }
    let text = str::to_owned;
    let row = Separated { a: text("a"), b: text("b"), c: text("c"), d: text("d_e"), e: 1, f: text("f") };
    let message = "Separated, layout `key`, key part `d`: \"d_e\" holds '_'; a `raw` key part cannot hold `/`, `\\`, \
                   `#`, `?`, control characters, or a separator that ends it";
    refused(store, row, Separated::key("a", "b", "c", "d_e", 1, "f"), message).await;
    Ok(())
}

async fn a_leap_second_is_the_last_tick_before_the_next_second(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Measured")]
    struct Measured {
        #[partition_key]
        place: String,
        #[row_key(time)]
        at: DateTime<Utc>,
        seen: DateTime<Utc>,
    }

    let tables = &store.tables;
    tables.create::<Measured>().await?;
    let second = NaiveDate::from_ymd_opt(2016, 12, 31).and_then(|day| day.and_hms_milli_opt(23, 59, 59, 1_500));
    let leap = second.expect("a leap second").and_utc();
    let next = |milliseconds: i64| DateTime::from_timestamp_millis(1_483_228_800_000 + milliseconds).expect("a time");
    // In the order of the times: before the leap second, in it, and after it.
    let times = [next(-1), leap, next(0), next(500)];
    for at in times {
        tables.insert(&Measured { place: "a".into(), at, seen: at }).await?;
    }
    let read: Vec<_> = Measured::by_key("a").all(tables).await?.iter().map(|it| (it.at, it.seen)).collect();
    let last = next(0) - chrono::TimeDelta::nanoseconds(100);
    assert_eq!(read, [next(-1), last, next(0), next(500)].map(|at| (at, at)));
    assert!(Measured::key("a", leap).exists(tables).await?);
    Ok(())
}
