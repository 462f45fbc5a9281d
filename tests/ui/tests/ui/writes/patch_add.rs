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
    published: bool,
    url: Option<String>,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.patch(Post::key("Marcus", 1), |post| post.likes += 1).await?;
    Ok(())
}

fn main() {}
