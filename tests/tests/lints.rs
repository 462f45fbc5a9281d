//! Generated code under the strictest lints: `cargo clippy --all-targets` checks this file.

#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes,
    non_local_definitions,
    clippy::pedantic
)]

use table_runtime::{KeyPart, Property, TableEntity};

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
    drop((unused.id, unused.title, local.id, documented, Kind::Two));
}
