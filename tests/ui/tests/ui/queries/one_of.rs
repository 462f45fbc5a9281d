use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone)]
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
    Post::by_title("a").one_of(["x", "y"]).all(tables).await?;
    Ok(())
}

fn main() {}
