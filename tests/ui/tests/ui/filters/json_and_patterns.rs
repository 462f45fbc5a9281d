use serde::{Deserialize, Serialize};
use table_runtime::{Property, Result, TableEntity, Tables};

#[derive(Serialize, Deserialize)]
struct Address {
    city: String,
}

#[derive(Property)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(json)]
    address: Address,
    payment: Payment,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("ada").filter(|post| post.address.city.eq("Bonn")).all(tables).await?;
    Post::by_key("ada").filter(|post| matches!(post.payment, Payment::Cash)).all(tables).await?;
    Ok(())
}

fn main() {}
