use table_runtime::{Error, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

async fn run(tables: &Tables, post: &Post) -> Result<()> {
    match tables.insert(post).await {
        Err(Error::Conflict(_)) => Ok(()),
        other => other.map(drop),
    }
}

fn main() {}
