use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    tags: Vec<String>,
}

async fn run(tables: &Tables) -> Result<usize> {
    Ok(Post::by_key("ada").all(tables).await?.len())
}

fn main() {}
