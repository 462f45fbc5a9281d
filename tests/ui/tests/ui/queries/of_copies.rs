use futures_util::TryStreamExt;
use table_runtime::{Copied, EntityGroup, Projection, Result, Rows, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(likes, same_partition, copy)]
    likes: u32,
}

fn show(query: Rows<Post>) {}

async fn copies(tables: &Tables, copied: Copied<Post>) {
    show(Post::by_likes("Marcus"));
    Stored::etag(&copied);
}

async fn liked(tables: &Tables) -> Result<Vec<Stored<Post>>> {
    Post::by_likes("Marcus").all(tables).await
}

async fn list<P: Projection>(tables: &Tables) -> Result<Vec<P>> {
    Post::by_key("Marcus").select::<P>().all(tables).await
}

async fn streamed(tables: &Tables) -> Result<()> {
    let posts = Post::by_key("Marcus").stream(tables).try_filter(|post| post.likes > 5);
    let page = Post::by_key("Marcus").page(tables, 20, None).await?.map(|post| post.likes);
    Ok(())
}

fn main() {}
