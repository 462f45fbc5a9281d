#![deny(unused_variables)]

use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let deleted = Post::by_key("Marcus").delete_all(tables);
    Ok(())
}

fn main() {}
