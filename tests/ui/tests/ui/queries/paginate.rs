use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").paginate(1, 20).await?;
    Ok(())
}

fn main() {}
