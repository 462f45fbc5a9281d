use std::time::SystemTime;

use table_runtime::{Property, TableEntity};

#[derive(TableEntity)]
#[table(expires = until, soft_delete = until)]
struct Same {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(expires = until)]
struct Key {
    #[partition_key]
    user: String,
    #[row_key]
    until: SystemTime,
}

#[derive(TableEntity)]
#[table(expires = until)]
struct Skipped {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[property(skip)]
    until: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(soft_delete = deleted)]
struct WithDefault {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[property(default)]
    deleted: Option<SystemTime>,
}

#[derive(Property)]
struct Period {
    to: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(expires = period.to)]
struct Nested {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    period: Period,
}

#[derive(TableEntity)]
#[table(expires = untill)]
struct Unknown {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

fn main() {}
