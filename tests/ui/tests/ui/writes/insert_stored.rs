use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables) -> Result<()> {
    let Some(post) = Post::key("Marcus", 1).get(tables).await? else { return Ok(()) };
    tables.upsert(&post).await?;
    Ok(())
}

fn main() {}
