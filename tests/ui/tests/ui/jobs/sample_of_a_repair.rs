use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
pub struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title)]
    title: String,
}

pub async fn some(tables: &Tables) -> Result<()> {
    drop(tables.repair::<Post>().sample(10).await?);
    Ok(())
}

fn main() {}
