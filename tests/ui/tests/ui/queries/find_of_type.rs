use futures_util::StreamExt;
use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let posts = Post::find(tables).await?;
    let posts = Post::all(tables).await?;
    let post = Post::find_by_id(tables, 1).await?;
    Ok(())
}

fn main() {}
