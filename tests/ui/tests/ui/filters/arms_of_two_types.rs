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

async fn run(tables: &Tables, least: Option<u32>) -> Result<()> {
    let query = Post::by_key("Marcus").filter(|post| match least {
        Some(least) => post.likes.ge(least),
        None => true,
    });
    query.all(tables).await?;
    Ok(())
}

fn main() {}
