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
    Ok(())
}

fn main() {}
