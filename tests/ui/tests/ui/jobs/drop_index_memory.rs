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

pub async fn small(tables: &Tables) -> Result<()> {
    drop(tables.drop_index::<Post>("old").memory(1 << 20).await?);
    Ok(())
}

fn main() {}
