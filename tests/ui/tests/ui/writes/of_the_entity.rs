use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables, mut post: Post) -> Result<()> {
    post.insert(tables).await?;
    post.update(tables).await?;
    if let Some(stored) = Post::key("Marcus", 1).get(tables).await? {
        stored.delete(tables).await?;
    }
    let tables = tables.clone().with_retries(5);
    Ok(())
}

fn main() {}
