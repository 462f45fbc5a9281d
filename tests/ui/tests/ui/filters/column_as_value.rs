use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").filter(likes.ge(5)).all(tables).await?;
    Ok(())
}

fn main() {}
