use std::time::SystemTime;

use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Line {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
}

async fn old(tables: &Tables) {
    let _ = tables.drop_slices::<Line>(..SystemTime::UNIX_EPOCH).await;
}

fn main() {}
