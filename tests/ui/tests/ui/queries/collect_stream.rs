use futures_util::StreamExt as _;
use table_runtime::{Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

async fn run(tables: &Tables) -> Result<Vec<Stored<Post>>> {
    let posts: Vec<Stored<Post>> = Post::by_key("Marcus").stream(tables).collect().await;
    Ok(posts)
}

fn main() {}
