use std::time::SystemTime;

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(slice = week(at))]
struct Weekly {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

fn main() {}
