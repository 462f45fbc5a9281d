use futures_util::StreamExt;
use table_runtime::{Query, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
}

async fn run(tables: &Tables, title: Option<&str>) -> Result<()> {
    let query = if let Some(title) = title { Post::by_title("Marcus").eq(title) } else { Post::by_key("Marcus") };
    query.all(tables).await?;
    Post::by_key("Marcus").page(tables, 2, 20).await?;
    Ok(())
}

async fn optional(tables: &Tables, most: Option<u32>) -> Result<()> {
    let mut query = Post::by_key("Marcus").range(1..);
    if let Some(most) = most {
        query = query.filter(|post| post.likes.le(most));
    }
    query.all(tables).await?;
    Ok(())
}

async fn titles(tables: &Tables, query: impl Query<Entity = Post>) -> Result<Vec<String>> {
    Ok(query.all(tables).await?.iter().map(|post| post.title.clone()).collect())
}

async fn printed(tables: &Tables, query: impl Query<Entity = Post>) -> Result<()> {
    for post in query.all(tables).await? {
        println!("{}", post.title);
    }
    Ok(())
}

async fn popular(tables: &Tables) -> Result<()> {
    let mut posts = Post::by_key("Marcus").stream(tables);
    while let Some(post) = posts.next().await {
        println!("{}", post.likes);
    }
    Ok(())
}

async fn every<T: TableEntity>(tables: &Tables) -> Result<()> {
    T::by_key("Marcus").all(tables).await?;
    Ok(())
}

fn main() {}
