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

async fn run(tables: &Tables, at: SystemTime) -> Result<()> {
    tables.patch(Session::key("ada", 1), |session| [session.until.set(at)]).await?;
    Ok(())
}

fn main() {}
