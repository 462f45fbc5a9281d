//! The value of an index where its partition is expected.

use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
#[index(age, partition(city), row(age))]
struct Person {
    #[partition_key]
    id: u32,
    #[row_key]
    number: u32,
    city: String,
    age: u32,
}

async fn calls(tables: &Tables) -> Result<()> {
    let _ = Person::by_age(30).all(tables).await?;
    tables.save_changes().await
}

fn main() {}
