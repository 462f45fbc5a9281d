//! The entities that are read and written.

use std::time::{Duration, SystemTime};

use native_db::{ToKey, native_db};
use native_model::{Model, native_model};
use serde::{Deserialize, Serialize};
use table_runtime::{Projection, Result, Stored, TableEntity, Tables, backend::BoxFuture};

/// An entity to read: two key fields, a text, a text that may be missing, a number and a time.
#[native_model(id = 1, version = 1)]
#[native_db(primary_key(stored_key -> String))]
#[derive(TableEntity, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[table(name = "Posts")]
pub(crate) struct Post {
    #[partition_key]
    pub(crate) author: String,
    #[row_key]
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) url: Option<String>,
    pub(crate) likes: u32,
    pub(crate) posted: SystemTime,
}

/// Three fields of a post, which borrow from its row.
#[derive(Projection)]
#[projection(of = Post)]
pub(crate) struct Headline<'a> {
    pub(crate) title: &'a str,
    pub(crate) url: Option<&'a str>,
    pub(crate) likes: u32,
}

/// Number of posts of each author.
pub(crate) const POSTS: u64 = 1000;

impl Post {
    fn new(author: u64, id: u64) -> Self {
        Self {
            author: format!("author{author:04}"),
            id,
            title: format!("What I learned in my {id}th week"),
            url: id.is_multiple_of(2).then(|| format!("https://blog.example/{author}/{id}")),
            likes: u32::try_from(id % 1000).unwrap(),
            posted: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123 + id * 7_001),
        }
    }

    /// Returns the posts of this number of authors, in the order of their keys.
    pub(crate) fn of_authors(authors: u64) -> impl Iterator<Item = Self> + Send {
        (0..authors).flat_map(|author| (0..POSTS).map(move |id| Self::new(author, id)))
    }

    /// Returns the single key of `native_db`, a text. Bare `redb` has the same key.
    pub(crate) fn stored_key(&self) -> String {
        post_key(&self.author, self.id)
    }
}

/// Returns the key of a post, without the machinery of `format!`, which would slow the references down.
pub(crate) fn post_key(author: &str, id: u64) -> String {
    let (mut digits, mut rest) = ([0; 20], id);
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap();
        rest /= 10;
    }
    let mut key = String::with_capacity(author.len() + 21);
    key.push_str(author);
    key.push('\0');
    key.push_str(std::str::from_utf8(&digits).unwrap());
    key
}

/// An entity to write.
pub(crate) trait Numbered: TableEntity {
    /// Returns the entity with this number. A partition has 1,000 of them.
    fn new(id: u32) -> Self;
}

/// An entity to write to the references too, with or without indexes. A city has 200 of 100,000 customers.
pub(crate) trait Customer: Numbered + Serialize {
    /// Returns the single key of the references.
    fn stored_key(&self) -> String;

    fn email_key(&self) -> String;

    fn city_key(&self) -> String;

    /// Returns the columns of the row in `SQLite`.
    fn columns(&self) -> (u32, u32, &str, &str, &str, i64);
}

/// Declares customers that differ in the indexes of their email address, city and name.
macro_rules! customers {
    ($($(#[$model:meta])* $name:ident [$(#[$email:meta])*] [$(#[$city:meta])*] [$(#[$named:meta])*])*) => {$(
        $(#[$model])*
        #[derive(TableEntity, Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub(crate) struct $name {
            #[partition_key]
            shop: u32,
            #[row_key]
            id: u32,
            $(#[$email])*
            email: String,
            $(#[$city])*
            city: String,
            $(#[$named])*
            name: String,
            cents: i64,
        }

        impl Numbered for $name {
            fn new(id: u32) -> Self {
                Self {
                    shop: id / 1000,
                    id,
                    email: format!("Customer{id}@example.com"),
                    city: format!("City {}", id % 500),
                    name: format!("Customer {id}"),
                    cents: i64::from(id) * 7,
                }
            }
        }

        impl Customer for $name {
            fn stored_key(&self) -> String {
                format!("{:010}\0{:010}", self.shop, self.id)
            }

            fn email_key(&self) -> String {
                self.email.to_lowercase()
            }

            fn city_key(&self) -> String {
                self.city.clone()
            }

            fn columns(&self) -> (u32, u32, &str, &str, &str, i64) {
                (self.shop, self.id, &self.email, &self.city, &self.name, self.cents)
            }
        }
    )*};
}

customers! {
    #[native_model(id = 2, version = 1)]
    #[native_db(primary_key(stored_key -> String))]
    Plain [] [] []

    #[native_model(id = 3, version = 1)]
    #[native_db(
        primary_key(stored_key -> String),
        secondary_key(email_key -> String, unique),
        secondary_key(city_key -> String)
    )]
    TwoIndexes [#[index(email, lowercase, unique)]] [#[index(city)]] []

    ThreeIndexes [#[index(email, lowercase, unique)]] [#[index(city)]] [#[index(name)]]
}

impl Plain {
    /// Returns a customer of another shop than its number implies.
    pub(crate) fn of_shop(shop: u32, id: u32) -> Self {
        Self { shop, ..Self::new(id) }
    }
}

/// Declares customers with three tags, which have rows in these indexes.
macro_rules! tagged {
    ($($name:ident [$($index:tt)*])*) => {$(
        #[derive(TableEntity)]
        pub(crate) struct $name {
            #[partition_key]
            shop: u32,
            #[row_key]
            id: u32,
            name: String,
            #[property(json)]
            $($index)*
            tags: Vec<String>,
        }

        impl Numbered for $name {
            fn new(id: u32) -> Self {
                let tags = [id % 500, id % 501, id % 503].map(|tag| format!("Tag {tag}")).into();
                Self { shop: id / 1000, id, name: format!("Customer {id}"), tags }
            }
        }
    )*};
}

tagged! {
    Tags []
    TagsOfPartition [#[index(tag, each, lowercase, same_partition)]]
    TagsWithName [#[index(tag, each, lowercase, same_partition, include(name))]]
    TagsOfAll [#[index(tag, each, lowercase)]]
}

/// Declares customers with these indexes in their own partition.
macro_rules! same_partition {
    ($($name:ident: $($index:ident)*;)*) => {
        customers! { $($name [] [$(#[index($index, same_partition)])*] [])* }
    };
}

same_partition! {
    Index1: i01;
    Indexes4: i01 i02 i03 i04;
    Indexes16: i01 i02 i03 i04 i05 i06 i07 i08 i09 i10 i11 i12 i13 i14 i15 i16;
    Indexes49: i01 i02 i03 i04 i05 i06 i07 i08 i09 i10 i11 i12 i13 i14 i15 i16 i17 i18 i19 i20 i21 i22 i23 i24 i25
        i26 i27 i28 i29 i30 i31 i32 i33 i34 i35 i36 i37 i38 i39 i40 i41 i42 i43 i44 i45 i46 i47 i48 i49;
}

/// An entity whose query merges partitions.
pub(crate) trait Reading: TableEntity + 'static {
    fn new(id: u64) -> Self;

    /// Reads 100 readings in the order of their keys.
    fn range(tables: &Tables, from: u64) -> BoxFuture<'_, Result<Vec<Stored<Self>>>>;
}

/// Declares readings in one partition or in hash partitions.
macro_rules! readings {
    ($($name:ident [$(#[$table:meta])*] [$(#[$hash:meta])*])*) => {$(
        #[derive(TableEntity)]
        $(#[$table])*
        pub(crate) struct $name {
            $(#[$hash])*
            #[row_key]
            id: u64,
            sensor: String,
            celsius: f64,
        }

        impl Reading for $name {
            fn new(id: u64) -> Self {
                Self { id, sensor: format!("sensor {}", id % 100), celsius: 20.5 }
            }

            fn range(tables: &Tables, from: u64) -> BoxFuture<'_, Result<Vec<Stored<Self>>>> {
                Self::by_key().range(from..).take(100).all(tables)
            }
        }
    )*};
}

readings! {
    Partition1 [#[table(partition = "all")]] []
    Partitions8 [] [#[partition_key(hash = 8)]]
    Partitions64 [] [#[partition_key(hash = 64)]]
}
