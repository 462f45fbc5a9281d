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

async fn run(tables: &Tables, id: &str) -> Result<()> {
    let id: u32 = id.parse()?;
    tables.remove(Post::key("Marcus", id)).await?;
    Ok(())
}

fn main() {}
