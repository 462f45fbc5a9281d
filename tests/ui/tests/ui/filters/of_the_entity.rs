use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

fn is_popular(post: &Post) -> bool {
    post.likes > 100
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").filter(|post| is_popular(&post)).all(tables).await?;
    Post::by_key("Marcus").filter(|Post { likes, .. }| likes.ge(1)).all(tables).await?;
    Ok(())
}

fn main() {}
