use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn like(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").modify(tables, |posts| posts.clear()).await?;
    Ok(())
}

fn main() {}
