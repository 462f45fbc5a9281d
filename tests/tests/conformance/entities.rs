//! The entities of the suite.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use table_runtime::{Guid, KeyPart, Property, TableEntity};
use time::OffsetDateTime;
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
    /// The post of a number: `seconds` after 2010-05-28.
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

/// So many seconds after 2010-05-28.
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

/// Every kind of property.
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

/// An entity beside [`Everything`], in its table.
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

/// Any serde type as JSON.
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

/// Every kind of index in every scope.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "People")]
pub(crate) struct Person {
    #[partition_key]
    pub(crate) team: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    #[index(nickname, first = 3, same_partition, include(status))]
    pub(crate) name: String,
    #[index(email, lowercase, unique)]
    pub(crate) email: Option<String>,
    #[index(badge, same_table, unique, include(name))]
    #[index(locker, table = "Lockers", unique)]
    pub(crate) badge: Option<u32>,
    #[index(last_name, same_partition)]
    #[index(namesakes, lowercase, same_partition, list)]
    pub(crate) last_name: String,
    #[index(city, table = "PeopleInCities")]
    #[index(city_copy, copy)]
    #[index(town, same_table)]
    #[index(town_copy, same_table, copy)]
    pub(crate) city: String,
    #[index(age, same_partition, copy)]
    #[index(adult, same_partition, when(age, is_adult))]
    #[index(grown_up, reverse, table = "GrownUps", when(age, is_adult))]
    pub(crate) age: u8,
    #[index(status, include(name))]
    pub(crate) status: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a condition is lent its fields")]
fn is_adult(age: &u8) -> bool {
    *age >= 18
}

impl Person {
    /// A person of this number and name, in this city.
    pub(crate) fn new(id: u32, name: &str, city: &str) -> Self {
        Self {
            team: "Sales".into(),
            id,
            name: name.into(),
            email: Some(format!("{name}@x.org")),
            badge: Some(100 + id),
            last_name: format!("{name}son"),
            city: city.into(),
            age: 30,
            status: "active".into(),
        }
    }
}

/// An entity of which a property stands in no index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Accounts")]
pub(crate) struct Account {
    #[partition_key]
    pub(crate) user: String,
    #[row_key]
    pub(crate) id: u32,
    #[index(name, lowercase, same_partition, unique)]
    #[index(names, same_partition, list)]
    #[index(everywhere, lowercase, unique)]
    pub(crate) name: Option<String>,
    #[index(plan, include(limit))]
    pub(crate) plan: String,
    pub(crate) limit: i64,
    pub(crate) note: String,
}

impl Account {
    pub(crate) fn new(user: &str, id: u32, name: &str) -> Self {
        let name = Some(name.into());
        Self { user: user.into(), id, name, plan: "free".into(), limit: 10, note: String::new() }
    }
}
