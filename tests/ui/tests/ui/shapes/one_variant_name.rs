//! Two variants that would be stored under one name.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
enum Pay {
    #[property(rename = "Cash")]
    Coin(u32),
    #[property(rename = "cash-out")]
    Cash(u32),
}

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    pay: Pay,
}

fn main() {}
