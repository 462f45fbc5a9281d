use futures_util::{StreamExt, future::join_all, stream};
use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn show(posts: &[Post]) {}

async fn read(tables: &Tables) -> Result<()> {
    let posts = Post::by_key("Marcus").all(tables).await?;
    show(&posts);
    posts.iter().for_each(|post| {
        tables.insert(&**post).await?;
    });
    join_all((1..4).map(|id| Post::key("Marcus", id).get(tables))).await?;
    Ok(())
}

async fn found(tables: &Tables) -> Result<Stored<Post>> {
    Post::key("Marcus", 1).get(tables).await?.ok_or("no such post")
}

async fn concurrent(tables: &Tables, posts: Vec<Post>) {
    stream::iter(posts)
        .for_each_concurrent(10, |post| async move {
            tables.insert(&post).await?;
        })
        .await;
}

async fn progress(tables: &Tables, posts: Vec<Post>, stored: Stored<Post>) -> Result<()> {
    let etags: Vec<ETag> = tables.insert_all(&posts).await?;
    println!("{}", tables.upsert_all(posts).await?.len());
    tables.patch_if(Post::key("Marcus", 1), &stored, |post| [post.likes.set(1)]).await?;
    tables.update(&mut Stored::new(Stored::into_inner(stored))).await?;
    Ok(())
}

fn main() {}
