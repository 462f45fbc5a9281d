use std::time::{Duration, SystemTime};
use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(slice = month(at))]
struct Line {
    #[partition_key]
    shop: String,
    #[row_key]
    at: SystemTime,
    text: String,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.drop_slices::<Line>(Duration::from_secs(90)).await?;
    Ok(())
}

fn main() {}
