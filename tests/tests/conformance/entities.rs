//! The entities of the suite.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table_runtime::{Guid, KeyPart, Property, TableEntity};
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key(reverse_time)]
    #[property]
    pub posted: OffsetDateTime,
    #[row_key]
    pub id: u32,
    pub title: String,
    pub url: Option<String>,
    pub likes: u32,
}

impl Post {
    /// The post of a number: `seconds` after 2010-05-28.
    pub fn numbered(author: &str, number: u32) -> Self {
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

/// So many seconds after 2010-05-28.
pub fn at(seconds: u32) -> OffsetDateTime {
    time::macros::datetime!(2010-05-28 00:00 UTC) + time::Duration::seconds(seconds.into())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Articles", allow_scan)]
pub struct Article {
    #[partition_key(first = 1, uppercase)]
    #[row_key(uppercase)]
    pub title: String,
    pub words: i32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Words", allow_scan)]
pub struct Word {
    #[partition_key]
    pub language: String,
    #[row_key]
    pub text: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Names")]
pub struct Name {
    #[partition_key]
    pub country: String,
    #[row_key]
    pub name: String,
    #[row_key]
    pub number: i32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Counters", write_id)]
pub struct Counter {
    #[partition_key]
    pub name: String,
    #[row_key(reverse)]
    pub number: u16,
    pub count: i64,
}

#[derive(KeyPart, Property, Clone, Debug, PartialEq)]
pub struct Email(pub String);

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
pub struct UserId(pub Uuid);

#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq)]
#[table(rename_all = "kebab-case")]
pub enum Standing {
    Active,
    LockedOut,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub theme: String,
    pub sizes: BTreeMap<String, u8>,
}

/// Every kind of property.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Everything", kind)]
pub struct Everything {
    #[partition_key]
    pub user: UserId,
    #[row_key]
    pub standing: Standing,
    pub flag: bool,
    pub tiny: i8,
    pub small: i16,
    pub int: i32,
    pub long: i64,
    pub byte: u8,
    pub word: u16,
    pub dword: u32,
    pub single: f32,
    pub double: f64,
    pub text: String,
    pub bytes: Vec<u8>,
    pub guid: Guid,
    pub uuid: Uuid,
    pub time: OffsetDateTime,
    pub chrono: chrono::DateTime<chrono::Utc>,
    pub jiff: jiff::Timestamp,
    pub system: std::time::SystemTime,
    pub email: Email,
    pub other: Standing,
    pub maybe: Option<i64>,
    pub maybe_time: Option<OffsetDateTime>,
    #[property(json)]
    pub settings: Settings,
    #[property(json)]
    pub maybe_settings: Option<Settings>,
    #[property(text)]
    pub huge: u128,
    #[property(text)]
    pub maybe_huge: Option<u64>,
    #[property(default)]
    pub added_later: u32,
    #[property(rename = "class")]
    pub r#type: String,
    #[property(skip)]
    pub forgotten: u32,
}

/// An entity beside [`Everything`], in its table.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Everything", kind = "Note")]
pub struct Note {
    #[partition_key]
    pub user: UserId,
    #[row_key(prefix = "note-")]
    pub number: u8,
    pub text: String,
}

/// Rows as another program wrote them.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Legacy", separator = "_")]
pub struct Legacy {
    #[partition_key(raw)]
    pub area: String,
    #[row_key]
    pub name: String,
    #[row_key(pad = 4)]
    pub number: u16,
    #[row_key]
    pub note: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Details", row = "details", rename_all = "snake_case")]
pub struct Detail {
    #[partition_key]
    pub user: String,
    pub full_name: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Flags", partition = "all")]
pub struct Flag {
    #[row_key(lowercase)]
    pub name: String,
    pub on: bool,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Sensors")]
pub struct Sensor {
    #[partition_key(hash = 16)]
    #[row_key]
    pub id: Uuid,
    pub value: f64,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Boxes")]
pub struct Boxed<T: Clone> {
    #[partition_key]
    pub shelf: u8,
    #[row_key]
    pub number: u8,
    pub content: T,
}
