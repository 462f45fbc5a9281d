use table_runtime::{Copied, ETag, Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(likes, same_partition, copy)]
    likes: u32,
    url: Option<String>,
}

fn destructured(stored: Stored<Post>) -> String {
    let Post { title, .. } = stored;
    title
}

fn updated(stored: Stored<Post>) -> Post {
    Post { likes: 5, ..stored }
}

fn made(post: Post) -> Stored<Post> {
    post.into()
}

async fn verbs(tables: &Tables, post: Stored<Post>, other: Stored<Post>) -> Result<()> {
    post.save(tables).await?;
    other.delete(tables).await?;
    Ok(())
}

async fn patched(tables: &Tables) -> Result<()> {
    tables.patch(Post::key("Marcus", 1), |post| [post.title.set("x").likes.set(5)]).await?;
    Ok(())
}

fn etags(etag: ETag) -> String {
    let _ = ETag::ANY;
    etag.as_str()
}

fn main() {}
