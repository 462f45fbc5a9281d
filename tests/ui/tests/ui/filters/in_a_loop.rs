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
    let mut posts = Post::by_key("a");
    for least in [1, 2] {
        posts = posts.filter(|post| post.likes.ge(least));
    }
    posts.all(tables).await?;
    Ok(())
}

fn main() {}
