use std::time::SystemTime;

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(expires = until, soft_delete = until)]
struct Same {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: Option<SystemTime>,
}

fn main() {}
