use table_runtime::{Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn all(tables: &Tables, posts: Vec<Stored<Post>>) -> Result<()> {
    let mut transaction = tables.transaction();
    for mut post in posts {
        post.likes = 0;
        transaction = transaction.update(&mut post);
    }
    transaction.commit().await?;
    Ok(())
}

fn main() {}
