use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").eq(1..5).all(tables).await?;
    Ok(())
}

fn main() {}
