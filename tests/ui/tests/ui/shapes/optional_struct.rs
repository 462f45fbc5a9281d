//! An `Option` of a struct that may have no property at all.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Notes {
    first: Option<String>,
    second: Option<u32>,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    #[row_key]
    id: u32,
    notes: Option<Notes>,
}

fn main() {}
