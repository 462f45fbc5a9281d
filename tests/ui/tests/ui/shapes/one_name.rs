//! Two fields that would be stored under one name.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
    kind: String,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(rename = "Address_City")]
    city: String,
    address: Address,
}

#[derive(TableEntity)]
struct Flat {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "")]
    home: Address,
    #[property(prefix = "")]
    work: Address,
}

fn main() {}
