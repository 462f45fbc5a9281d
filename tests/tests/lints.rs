//! Generated code under the strictest lints: `cargo clippy --all-targets` checks this file.

#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes,
    non_local_definitions,
    clippy::pedantic,
    clippy::impl_trait_in_params,
    clippy::ref_option,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::trait_duplication_in_bounds
)]

use std::{borrow::Cow, time::SystemTime};

use table_runtime::{KeyPart, Projection, Property, TableEntity};

mod private {
    use super::TableEntity;

    /// Entity that is only constructed.
    #[derive(TableEntity)]
    #[table(allow_scan)]
    pub(super) struct Unused {
        #[partition_key]
        #[row_key]
        pub(super) id: u32,
        pub(super) title: String,
    }
}

/// Documented.
#[derive(TableEntity)]
#[index(both, partition(author), row(kind), unique)]
pub struct Documented {
    /// Documented.
    #[partition_key]
    pub author: String,
    /// Documented.
    #[row_key]
    pub id: Id,
    /// Documented.
    #[index(kind, same_partition, copy, when(kind, author, is_shown))]
    pub kind: Kind,
    /// Documented.
    #[index(alias, lowercase, same_table, include(kind))]
    #[index(aliases, same_partition, list)]
    pub alias: Option<String>,
}

/// Two indexes that share an option.
#[derive(TableEntity)]
#[index(newest(partition(kind), row(posted), copy))]
#[index(oldest(partition(kind), row(posted(time)), copy))]
#[allow(non_snake_case)]
pub struct Foreign {
    /// Documented.
    #[partition_key]
    pub PartitionKey: String,
    /// Documented.
    #[row_key(reverse_time)]
    pub posted: SystemTime,
    /// Documented.
    pub kind: Kind,
    /// Documented.
    pub Title: Option<Cow<'static, str>>,
}

mod old {
    use super::{Projection, TableEntity};

    /// Documented.
    #[derive(TableEntity)]
    #[deprecated = "a test"]
    pub(super) struct Old<T: table_runtime::Property + Send + Sync + 'static> {
        #[partition_key]
        #[row_key]
        pub(super) id: u32,
        pub(super) value: T,
    }

    /// Documented.
    #[derive(Projection)]
    #[projection(of = Old<u32>)]
    #[allow(deprecated)]
    pub(super) struct Value {
        pub(super) value: u32,
    }
}

const fn is_shown(kind: &Kind, _: &str) -> bool {
    matches!(kind, Kind::One)
}

/// Documented.
#[derive(KeyPart, Property)]
pub struct Id(u32);

/// Documented.
#[derive(KeyPart, Property)]
pub enum Kind {
    /// Documented.
    One,
    /// Documented.
    Two,
}

#[test]
fn generated_code_passes_the_strictest_lints() {
    #[derive(TableEntity)]
    struct Local {
        #[partition_key(lowercase)]
        #[row_key]
        id: String,
    }

    let unused = private::Unused { id: 1, title: String::new() };
    let local = Local { id: String::new() };
    let documented = Documented { author: String::new(), id: Id(1), kind: Kind::One, alias: None };
    let foreign = Foreign {
        PartitionKey: String::new(),
        posted: SystemTime::UNIX_EPOCH,
        kind: Kind::One,
        Title: Some("Keys".into()),
    };
    drop((unused.id, unused.title, local.id, documented, Kind::Two, foreign));
    assert_eq!(deprecated(), 3);
}

#[allow(deprecated)]
fn deprecated() -> u32 {
    let (old, part) = (old::Old { id: 1, value: 1_u32 }, old::Value { value: 1 });
    old.id + old.value + part.value
}
