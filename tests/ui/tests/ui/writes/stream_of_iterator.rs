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

async fn run(tables: &Tables, posts: Vec<Post>) -> Result<()> {
    tables.insert_all_from(posts).await?;
    Ok(())
}

fn main() {}
