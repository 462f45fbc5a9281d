//! `prefix` on fields that are stored as one property, and other wrong names.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
    timestamp: u32,
}

#[derive(Property)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
struct One {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "City")]
    city: String,
}

#[derive(TableEntity)]
struct Taken {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "")]
    address: Address,
}

#[derive(TableEntity)]
struct Tag {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "")]
    payment: Payment,
}

#[derive(TableEntity)]
struct Both {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "A", rename = "B")]
    address: Address,
    #[property(flatten)]
    other: Address,
}

#[derive(TableEntity)]
struct OfJson {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "A", json)]
    lines: Vec<String>,
}

fn main() {}
