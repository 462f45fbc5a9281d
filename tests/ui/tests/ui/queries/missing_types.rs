use table_runtime::{Result, Stored, TableEntity, Tables, filter::Filter};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn at_least(column: Column<Post, u32>, least: u32) -> Filter<Post> {
    column.ge(least)
}

fn posts(tables: &Tables) -> Entities<Post> {
    Post::by_key("Marcus").stream(tables)
}

async fn page(tables: &Tables) -> Result<Page<Post>> {
    Post::by_key("Marcus").page(tables, 20, None).await
}

fn main() {}
