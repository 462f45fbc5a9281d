use table_runtime::{ETag, Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.patch_if(Post::key("Marcus", 1), &ETag::new("0x8D"), |post| [post.likes.set(1)]).await?;
    Ok(())
}

fn main() {}
