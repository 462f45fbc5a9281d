use std::time::SystemTime;

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
    Session::by_key("ada").with_deleted().all(tables).await?;
    Session::key("ada", 1).only_deleted().get(tables).await?;
    tables.soft_delete(Session::key("ada", 1)).await?;
    tables.restore(Session::key("ada", 1)).await?;
    Ok(())
}

fn main() {}
