use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables, posts: &[Post]) -> Result<()> {
    let transaction = tables.transaction();
    for post in posts {
        transaction.insert(post);
    }
    transaction.commit().await?;
    Ok(())
}

fn main() {}
