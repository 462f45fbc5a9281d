use futures_util::TryStreamExt;
use table_runtime::{Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables, post: Post) -> Result<()> {
    let posts = Post::by_key("Marcus").stream(tables);
    tables.insert_all(posts.map_ok(|post| Post { author: "Doris".into(), ..Stored::into_inner(post) })).await?;
    tables.upsert_all(&post).await?;
    Ok(())
}

fn main() {}
