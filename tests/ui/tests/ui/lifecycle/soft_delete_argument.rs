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

async fn of_an_entity(tables: &Tables, account: &mut Account) -> Result<()> {
    tables.soft_delete(account).await?;
    Ok(())
}

async fn of_a_range(tables: &Tables) -> Result<()> {
    tables.soft_delete(Account::by_key("ada")).await?;
    Ok(())
}

async fn of_a_stored(tables: &Tables, account: Stored<Account>) -> Result<()> {
    tables.restore(&account).await?;
    Ok(())
}

fn main() {}
