use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
pub struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").stream(tables).map(|post| post).for_each(|_| async {}).await;
    Ok(())
}

fn main() {}
