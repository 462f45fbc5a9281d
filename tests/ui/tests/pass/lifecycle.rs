//! Times that hide an entity: each kind of time, in every kind of struct, and every query of them.

#![allow(dead_code)]

use std::time::{Duration, SystemTime};

use table_runtime::{EntityGroup, Result, TableEntity, Tables};
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "Sessions", expires = until, soft_delete = r#in, allow_scan)]
#[index(until, partition(until))]
pub struct Session<T>
where
    T: table_runtime::Property,
{
    #[partition_key]
    pub user: String,
    #[row_key]
    pub id: u32,
    pub content: T,
    #[property(rename = "Until")]
    until: SystemTime,
    r#in: Option<OffsetDateTime>,
}

/// The time is also a part of the key, and in a list.
#[derive(TableEntity)]
#[table(expires = until)]
struct Token {
    #[partition_key]
    user: String,
    #[row_key(time)]
    #[property]
    until: SystemTime,
    #[index(purpose, same_partition, list)]
    purpose: String,
}

#[derive(TableEntity)]
#[table(name = "Expenses", row = "expense", soft_delete = deleted)]
struct Expense {
    #[partition_key]
    id: String,
    deleted: Option<SystemTime>,
}

#[derive(TableEntity)]
#[table(name = "Expenses", expires = until)]
struct Item {
    #[partition_key]
    expense: String,
    #[row_key(prefix = "item-")]
    number: u32,
    until: Option<SystemTime>,
}

#[derive(EntityGroup)]
enum Report {
    Expense(Expense),
    Item(Item),
}

async fn run(tables: &Tables) -> Result<()> {
    Session::<u32>::key("ada", 1).with_deleted().get(tables).await?;
    Session::<u32>::by_key("ada").only_deleted().all(tables).await?;
    Session::<u32>::scan().with_deleted().count(tables).await?;
    let mut session = Session::<u32>::key("ada", 1).get(tables).await?.expect("a session");
    tables.soft_delete(&mut session).await?;
    tables.soft_delete(Session::<u32>::key("ada", 1)).await?;
    tables.restore(Session::<u32>::key("ada", 1)).await?;
    tables.sweep::<Session<u32>>().deleted_before(Duration::from_secs(1)).dry_run().await?;
    tables.sweep::<Token>().progress(|progress| assert_eq!(progress.unreadable, 0)).await?;
    Report::by_key("1").with_deleted().all(tables).await?;
    Report::by_key("1").only_deleted().all(tables).await?;
    Ok(())
}
