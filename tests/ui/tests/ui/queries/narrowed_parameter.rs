use table_runtime::{Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn written() -> impl Query<Entity = Post, Item = Stored<Post>> {
    Post::by_key("Marcus")
}

async fn popular(tables: &Tables, query: impl Query<Entity = Post>) -> Result<()> {
    written().filter(|post| post.likes.ge(5)).all(tables).await?;
    query.take(10).all(tables).await?;
    written().page(tables, 20, None::<&str>).await?;
    Ok(())
}

fn main() {}
