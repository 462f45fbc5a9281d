use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
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

async fn run(tables: &Tables, post: &Post, posts: &[Post]) -> Result<()> {
    tables.put(post).await?;
    tables.upsert_entity(post).await?;
    tables.update_entity(post).await?;
    tables.delete_entity("Marcus", "0000000001").await?;
    tables.insert_many(posts).await?;
    let found: Vec<Post> = tables.find("Marcus").await?;
    tables.batch().insert(post).commit().await?;
    tables.transaction().insert_all(posts).commit().await?;
    Ok(())
}

fn main() {}
