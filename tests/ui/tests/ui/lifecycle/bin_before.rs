use std::time::{Duration, SystemTime};

use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(expires = until)]
struct Session {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.sweep::<Session>().deleted_before(Duration::ZERO).await?;
    Ok(())
}

fn main() {}
