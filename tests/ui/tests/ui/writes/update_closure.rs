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

async fn run(tables: &Tables) -> Result<()> {
    tables.update(Post::key("Marcus", 1), |post: &mut Post| post.likes += 1).await?;
    Ok(())
}

fn main() {}
