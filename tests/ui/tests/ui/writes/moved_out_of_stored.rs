use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<Option<String>> {
    let Some(post) = Post::key("Marcus", 1).get(tables).await? else { return Ok(None) };
    Ok(Some(post.title))
}

fn main() {}
