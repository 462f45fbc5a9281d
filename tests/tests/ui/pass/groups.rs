//! Groups: of private key types, of entities with parameters, stored ones, and without a prelude.

#![deny(warnings)]
#![deny(missing_docs)]
#![no_implicit_prelude]

extern crate table_runtime as elsewhere;

mod renamed {
    pub(crate) use crate::elsewhere::*;
}

/// Of the public entities below, no one else's to name.
#[derive(renamed::KeyPart, Clone, Copy)]
#[table(crate = crate::renamed)]
struct Id(u32);

use ::std::{clone::Clone, marker::Copy, prelude::rust_2024::derive};

/// A master.
#[derive(renamed::TableEntity)]
#[table(crate = crate::renamed, name = "Expenses", separator = "_")]
pub struct Expense<T> {
    #[partition_key]
    user: Id,
    #[partition_key(lowercase)]
    place: ::std::string::String,
    #[row_key]
    id: Id,
    value: T,
}

/// An item.
#[derive(renamed::TableEntity)]
#[table(crate = crate::renamed, name = "Expenses", separator = "_")]
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

/// Both.
#[derive(renamed::EntityGroup)]
#[table(crate = crate::renamed)]
pub enum Report {
    /// The first.
    r#Self_(Expense<bool>),
    /// The others.
    Item(renamed::Stored<Item>),
}

/// Six parts, and indexes that do not meet.
#[derive(renamed::TableEntity)]
#[table(crate = crate::renamed, name = "Deep")]
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

/// Its items.
#[derive(renamed::TableEntity)]
#[table(crate = crate::renamed, name = "Deep")]
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

/// Both.
#[derive(renamed::EntityGroup)]
#[table(crate = crate::renamed)]
pub enum Depth {
    /// The master.
    Deep(Deep),
    /// Its items.
    Deeper(Deeper),
}

mod inner {
    /// From another place.
    #[derive(super::renamed::EntityGroup)]
    #[table(crate = crate::renamed)]
    pub(super) enum Report {
        Item(super::Expense<bool>),
        Expense(super::Item),
    }
}

/// Uses it.
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

fn main() {}
