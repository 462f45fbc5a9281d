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

pub async fn share(tables: &Tables) -> Result<()> {
    drop(tables.verify::<Post>().shard(0, 3).await?);
    Ok(())
}

fn main() {}
