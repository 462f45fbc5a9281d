//! Entities and helpers that several files of the suite share.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use table_runtime::{
    Error, Guid, KeyPart, Property, TableEntity,
    error::{BulkError, UniqueViolationError},
    jobs::{Finding, Progress},
};
use tests::stores::{Kind, Store};
use time::{OffsetDateTime, macros::datetime};
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
pub(crate) struct Post {
    #[partition_key]
    pub(crate) author: String,
    #[row_key(reverse_time)]
    #[property]
    pub(crate) posted: OffsetDateTime,
    #[row_key]
    pub(crate) id: u32,
    pub(crate) title: String,
    pub(crate) url: Option<String>,
    pub(crate) likes: u32,
}

impl Post {
    /// Returns the post of this number, posted as many seconds after the beginning of 2010-05-28.
    pub(crate) fn numbered(author: &str, number: u32) -> Self {
        Self {
            author: author.into(),
            posted: at(number),
            id: number,
            title: format!("Post {number}"),
            url: None,
            likes: number,
        }
    }
}

/// Returns the time this many seconds after the beginning of 2010-05-28.
pub(crate) fn at(seconds: u32) -> OffsetDateTime {
    time::macros::datetime!(2010-05-28 00:00 UTC) + time::Duration::seconds(seconds.into())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Articles", allow_scan)]
pub(crate) struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    pub(crate) title: String,
    pub(crate) words: i32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words", allow_scan)]
pub(crate) struct Word {
    #[partition_key]
    pub(crate) language: String,
    #[row_key]
    pub(crate) text: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Names")]
pub(crate) struct Name {
    #[partition_key]
    pub(crate) country: String,
    #[row_key]
    pub(crate) last: String,
    #[row_key]
    pub(crate) number: i32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Counters", write_id)]
pub(crate) struct Counter {
    #[partition_key]
    pub(crate) name: String,
    #[row_key(reverse)]
    pub(crate) number: u16,
    pub(crate) count: i64,
}

#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
pub(crate) struct Email(pub(crate) String);

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
pub(crate) struct UserId(pub(crate) Uuid);

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
#[table(rename_all = "kebab-case")]
pub(crate) enum Standing {
    Active,
    LockedOut,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) theme: String,
    pub(crate) sizes: BTreeMap<String, u8>,
}

/// Entity with a property of every kind.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Everything", kind)]
pub(crate) struct Everything {
    #[partition_key]
    pub(crate) user: UserId,
    #[row_key]
    pub(crate) standing: Standing,
    pub(crate) flag: bool,
    pub(crate) tiny: i8,
    pub(crate) small: i16,
    pub(crate) int: i32,
    pub(crate) long: i64,
    pub(crate) byte: u8,
    pub(crate) word: u16,
    pub(crate) dword: u32,
    pub(crate) single: f32,
    pub(crate) double: f64,
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) guid: Guid,
    pub(crate) uuid: Uuid,
    pub(crate) time: OffsetDateTime,
    pub(crate) chrono: chrono::DateTime<chrono::Utc>,
    pub(crate) jiff: jiff::Timestamp,
    pub(crate) system: std::time::SystemTime,
    pub(crate) email: Email,
    pub(crate) other: Standing,
    pub(crate) maybe: Option<i64>,
    pub(crate) maybe_time: Option<OffsetDateTime>,
    #[property(json)]
    pub(crate) settings: Settings,
    #[property(json)]
    pub(crate) maybe_settings: Option<Settings>,
    #[property(text)]
    pub(crate) huge: u128,
    #[property(text)]
    pub(crate) maybe_huge: Option<u64>,
    #[property(default)]
    pub(crate) added_later: u32,
    #[property(rename = "class")]
    pub(crate) r#type: String,
    #[property(skip)]
    pub(crate) forgotten: u32,
}

/// Entity in the table of [`Everything`].
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Everything", kind = "Note")]
pub(crate) struct Note {
    #[partition_key]
    pub(crate) user: UserId,
    #[row_key(prefix = "note-")]
    pub(crate) number: u8,
    pub(crate) text: String,
}

/// Rows as another program wrote them.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Legacy", separator = "_")]
pub(crate) struct Legacy {
    #[partition_key(raw)]
    pub(crate) area: String,
    #[row_key]
    pub(crate) name: String,
    #[row_key(pad = 4)]
    pub(crate) number: u16,
    #[row_key]
    pub(crate) note: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Details", row = "details", rename_all = "snake_case", allow_scan)]
pub(crate) struct Detail {
    #[partition_key]
    pub(crate) user: String,
    pub(crate) full_name: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Flags", partition = "all")]
pub(crate) struct Flag {
    #[row_key(lowercase)]
    pub(crate) name: String,
    pub(crate) on: bool,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sensors")]
pub(crate) struct Sensor {
    #[partition_key(hash = 16)]
    #[row_key]
    pub(crate) id: Uuid,
    pub(crate) value: f64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Boxes")]
pub(crate) struct Boxed<T: Clone> {
    #[partition_key]
    pub(crate) shelf: u8,
    #[row_key]
    pub(crate) number: u8,
    pub(crate) content: T,
}

/// Entity with any serde type, stored as JSON.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Papers")]
pub(crate) struct Paper<T: Clone + Serialize + serde::de::DeserializeOwned> {
    #[partition_key]
    pub(crate) shelf: u8,
    #[row_key]
    pub(crate) number: u8,
    #[property(json)]
    pub(crate) content: T,
}

/// Entity with a unique index, a list and a copy, all in its own partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
pub(crate) struct Member {
    #[partition_key]
    pub(crate) club: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    pub(crate) name: String,
    #[index(town, same_partition, list)]
    pub(crate) town: String,
    #[index(joined, same_partition, copy)]
    pub(crate) joined: u16,
}

pub(crate) fn member(id: u32, name: &str) -> Member {
    Member { club: "chess".into(), id, name: name.into(), town: "Ulm".into(), joined: 2010 }
}

/// Returns what `verify` finds. On local stores with few rows, checks that many passes with little memory find the
/// same, and that a sample does, whose ranges are whole tables.
pub(crate) async fn findings<E: TableEntity>(store: &Store) -> Result<Vec<Finding>> {
    let rows = Arc::new(AtomicUsize::new(0));
    let counted = rows.clone();
    let count = move |progress: &Progress| counted.store(progress.entities + progress.index_rows, Ordering::Relaxed);
    let found = store.tables.verify::<E>().side_by_side(1).progress(count).all().await?;
    if matches!(store.kind, Kind::Memory | Kind::Disk) && rows.load(Ordering::Relaxed) < 100 {
        let passes = store.tables.verify::<E>().memory(FEW_HASHES).all().await?;
        let sorted = |findings: &[Finding]| {
            let mut texts: Vec<_> = findings.iter().map(|finding| format!("{finding:?}")).collect();
            texts.sort_unstable();
            texts
        };
        assert_eq!(sorted(&passes), sorted(&found));
        // A sample does not look at events.
        let is_of_rows = |finding: &&Finding| !matches!(finding, Finding::UnmarkedEvent { .. });
        let mut drawn = sorted(&found.iter().filter(is_of_rows).cloned().collect::<Vec<_>>());
        drawn.dedup();
        assert_eq!(sorted(&store.tables.verify::<E>().sample(RANGES).all().await?), drawn);
    }
    Ok(found)
}

/// Number of ranges that is larger than the number of tables of each entity.
const RANGES: usize = 30;

/// Memory for four hashes.
const FEW_HASHES: usize = 4 * size_of::<u128>();

/// Returns the error of a bulk write, which has to fail.
pub(crate) fn failed<T: std::fmt::Debug>(result: table_runtime::Result<T>) -> BulkError {
    match result {
        Err(Error::Bulk(error)) => *error,
        other => panic!("{other:?}"),
    }
}

/// Returns the violation of a unique index, which the error has to be.
pub(crate) fn violation(error: Error) -> Box<UniqueViolationError> {
    match error {
        Error::UniqueViolation(violation) => violation,
        other => panic!("{other}"),
    }
}

/// Returns a row with a distinctive value of every kind.
pub(crate) fn everything(user: UserId, standing: Standing) -> Everything {
    let sizes = BTreeMap::from([("s".to_owned(), 1), ("\"quoted\"".to_owned(), 2)]);
    Everything {
        user,
        standing,
        flag: true,
        tiny: -8,
        small: -16,
        int: -32,
        long: -5_000_000_000,
        byte: 200,
        word: 60_000,
        dword: 4_000_000_000,
        single: 0.5,
        double: 5.0,
        text: "it's 100 % /\\?#&+ ünïcode 😀".into(),
        bytes: vec![0, 1, 255],
        guid: Guid::from_bytes([0xAB; 16]),
        uuid: uuid::Uuid::from_u128(0x1234),
        time: datetime!(2010-05-28 12:34:56.789_012_3 UTC),
        chrono: chrono::DateTime::from_timestamp(1_000_000_000, 100).expect("in range"),
        jiff: jiff::Timestamp::new(-1_000_000_000, -100).expect("in range"),
        system: SystemTime::UNIX_EPOCH + Duration::from_micros(1_234_567),
        email: Email("a@b.c".into()),
        other: Standing::LockedOut,
        maybe: Some(5_000_000_000),
        maybe_time: None,
        settings: Settings { theme: "dark".into(), sizes },
        maybe_settings: None,
        huge: u128::MAX,
        maybe_huge: Some(u64::MAX),
        added_later: 3,
        r#type: "it's 100 % /\\?#&+ ünïcode 😀".into(),
        forgotten: 0,
    }
}
