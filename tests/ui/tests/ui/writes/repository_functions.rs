use table_runtime::{ETag, Error, Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn count(tables: &Tables, posts: &[Post]) -> Result<usize> {
    Ok(tables.insert_all(posts).await?)
}

async fn read(tables: &Tables) -> Result<Option<Post>> {
    Post::key("Marcus", 1).get(tables).await
}

fn made(post: Post, etag: ETag) -> Stored<Post> {
    Stored { entity: post, etag }
}

async fn ended(tables: &Tables) -> Result<()> {
    let post = Post::new("Marcus", 1);
    if let Err(Error::UniqueViolation { index, .. }) = tables.insert(&post).await {
        println!("{index}");
    }
    tables.delete_table::<Post>().await?;
    tables.close().await?;
    Post::by_key("Marcus").order_by(|post| post.likes.desc()).all(tables).await?;
    Ok(())
}

fn main() {}
