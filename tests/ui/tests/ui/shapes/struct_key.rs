//! A struct in a key, and an index on a whole struct.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    address: Address,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
struct Indexed {
    #[partition_key]
    #[row_key]
    id: u32,
    #[index(address, same_partition)]
    address: Address,
}

fn main() {}
