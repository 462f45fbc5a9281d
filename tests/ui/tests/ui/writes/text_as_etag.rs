use table_runtime::{ETag, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let etag: ETag = "W/\"1\"".into();
    tables.patch_if(Post::key("Marcus", 1), &etag, |post| [post.likes.set(1)]).await?;
    Ok(())
}

fn main() {}
