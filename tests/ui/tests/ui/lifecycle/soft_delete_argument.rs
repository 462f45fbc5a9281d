use std::time::SystemTime;

use table_runtime::{Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
#[table(soft_delete = deleted)]
struct Account {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

async fn by_reference(tables: &Tables, account: Stored<Account>) -> Result<()> {
    tables.soft_delete(&account).await?;
    Ok(())
}

fn main() {}
