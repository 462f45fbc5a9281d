use std::time::SystemTime;

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(ttl = until)]
struct Session {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity)]
#[table(deleted_at = deleted)]
struct Account {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(expires)]
struct Token {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity)]
#[table(expires = "until")]
struct Quoted {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

fn main() {}
