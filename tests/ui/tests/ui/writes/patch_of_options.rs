use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

async fn run(tables: &Tables, title: Option<&str>, likes: Option<u32>) -> Result<()> {
    tables
        .patch(Post::key("Marcus", 1), |post| [title.map(|title| post.title.set(title)), likes.map(|likes| post.likes.set(likes))])
        .await?;
    Ok(())
}

fn main() {}
