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

async fn run(tables: &Tables, from: Option<u32>) -> Result<usize> {
    let query = if let Some(from) = from { Post::by_key("Marcus").range(from..) } else { Post::by_key("Marcus") };
    query.count(tables).await
}

fn main() {}
