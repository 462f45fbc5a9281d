use table_runtime::{ETag, Result, Stored, TableEntity, Tables};

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

async fn run(tables: &Tables, post: Post, if_match: String) -> Result<()> {
    tables.patch_if(Post::key("Marcus", 1), &if_match, |post| [post.likes.set(5)]).await?;
    tables.update(&mut Stored::new(post, ETag::from(if_match.as_str()))).await?;
    Ok(())
}

fn main() {}
