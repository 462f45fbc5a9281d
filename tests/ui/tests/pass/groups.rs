//! Groups with private key types, with generic entities, with `Stored` entities and without a prelude.

#![deny(warnings)]
#![deny(missing_docs)]
#![no_implicit_prelude]

extern crate table_runtime as runtime;

mod renamed {
    pub(crate) use crate::groups::runtime::*;
}

/// Key type of the public entities below, which users of the entities cannot name.
#[derive(renamed::KeyPart, Clone, Copy)]
#[table(crate = crate::groups::renamed)]
struct Id(u32);

use ::std::{clone::Clone, marker::Copy, prelude::rust_2024::derive};

/// Master with a type parameter.
#[derive(renamed::TableEntity)]
#[table(crate = crate::groups::renamed, name = "Expenses", separator = "_")]
pub struct Expense<T> {
    #[partition_key]
    user: Id,
    #[partition_key(lowercase)]
    place: ::std::string::String,
    #[row_key]
    id: Id,
    value: T,
}

/// Item with a text at the end of its key.
#[derive(renamed::TableEntity)]
#[table(crate = crate::groups::renamed, name = "Expenses", separator = "_")]
pub struct Item {
    #[partition_key]
    owner: Id,
    #[partition_key(lowercase)]
    place: ::std::string::String,
    #[row_key]
    expense: u32,
    #[row_key(raw)]
    name: ::std::string::String,
}

/// Group of master and item.
#[derive(renamed::EntityGroup)]
#[table(crate = crate::groups::renamed)]
pub enum Report {
    /// The master.
    r#Self_(Expense<bool>),
    /// The items.
    Item(renamed::Stored<Item>),
}

/// Master with six partition key parts and an index whose rows cannot collide with those of the item's index.
#[derive(renamed::TableEntity)]
#[table(crate = crate::groups::renamed, name = "Deep")]
pub struct Deep {
    #[partition_key]
    a: Id,
    #[partition_key]
    b: ::std::primitive::bool,
    #[partition_key]
    c: ::std::primitive::char,
    #[partition_key(lowercase)]
    d: ::std::string::String,
    #[partition_key(pad = 2)]
    e: u8,
    #[partition_key]
    f: i64,
    #[row_key(prefix = "id-")]
    id: u32,
    #[index(note, same_partition)]
    note: ::std::string::String,
}

/// Item with the same six parts.
#[derive(renamed::TableEntity)]
#[table(crate = crate::groups::renamed, name = "Deep")]
pub struct Deeper {
    #[partition_key]
    a: Id,
    #[partition_key]
    b: ::std::primitive::bool,
    #[partition_key]
    c: ::std::primitive::char,
    #[partition_key(lowercase)]
    d: ::std::string::String,
    #[partition_key(pad = 2)]
    e: u8,
    #[partition_key]
    f: i64,
    #[row_key(prefix = "id-")]
    id: u32,
    #[row_key]
    number: u32,
    #[index(note, same_partition, prefix = "item-note-")]
    note: ::std::string::String,
}

/// Group with six partition key parts.
#[derive(renamed::EntityGroup)]
#[table(crate = crate::groups::renamed)]
pub enum Depth {
    /// The master.
    Deep(Deep),
    /// The items.
    Deeper(Deeper),
}

mod inner {
    /// Group whose entities are in another module.
    #[derive(super::renamed::EntityGroup)]
    #[table(crate = crate::groups::renamed)]
    pub(super) enum Report {
        Item(super::Expense<bool>),
        Expense(super::Item),
    }
}

/// Runs a query of each group.
pub async fn queries(tables: &renamed::Tables) -> renamed::Result<()> {
    let query: renamed::Rows<Report> = Report::by_key((Id(1), "x")).eq(Id(1));
    for report in query.all(tables).await? {
        match report {
            Report::Self_(_) => {}
            Report::Item(item) => tables.delete(&item).await?,
        }
    }
    let window = inner::Report::by_key((Id(1), "x")).range(Id(1)..Id(2)).take(1);
    for report in window.all(tables).await? {
        let (inner::Report::Item(Expense { .. }) | inner::Report::Expense(Item { .. })) = report;
    }
    for depth in Depth::by_key((Id(1), true, 'c', "d", 5, -6)).eq(1).all(tables).await? {
        let (Depth::Deep(Deep { .. }) | Depth::Deeper(Deeper { .. })) = depth;
    }
    ::std::result::Result::Ok(())
}
