use std::time::SystemTime;

use table_runtime::{Property, TableEntity};

#[derive(TableEntity)]
#[table(expires = until)]
struct Seconds {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: u64,
}

#[derive(TableEntity)]
#[table(soft_delete = is_deleted)]
struct Flag {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    is_deleted: bool,
}

#[derive(TableEntity)]
#[table(soft_delete = deleted)]
struct Always {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    deleted: SystemTime,
}

#[derive(Property)]
struct Period {
    from: SystemTime,
    to: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(expires = period)]
struct Whole {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    period: Period,
}

fn main() {}
