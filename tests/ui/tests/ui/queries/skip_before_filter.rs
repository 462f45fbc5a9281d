use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone)]
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

async fn run(tables: &Tables) -> Result<()> {
    let skip = |error| eprintln!("{error}");
    Post::by_key("a").skip_unreadable(skip).filter(|post: Post| post.likes > 1).all(tables).await?;
    Ok(())
}

fn main() {}
