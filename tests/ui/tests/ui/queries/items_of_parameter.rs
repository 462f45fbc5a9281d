use table_runtime::{Query, Result, TableEntity, Tables};

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

async fn print<Q: Query<Entity = Post>>(tables: &Tables, query: Q) -> Result<()> {
    for post in query.all(tables).await? {
        println!("{}", post.title);
    }
    Ok(())
}

async fn count<Q: Query<Entity = Post>>(tables: &Tables, query: Q) -> Result<usize> {
    let posts = query.all(tables).await?;
    Ok(posts.iter().filter(|post| post.title.is_empty()).count())
}

fn main() {}
