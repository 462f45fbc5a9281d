use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("a").boxed().for_each(tables, |_| Ok::<(), String>(())).await?;
    Post::by_key("a").skip_unreadable(drop).for_each(tables, |_| Ok::<(), String>(())).await?;
    Ok(())
}

fn main() {}
