//! One mistake causes one error: uses of the entity cause no further errors.

use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
#[table(nam = "Posts")]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(padd = 8)]
    id: u32,
    title: String,
}

async fn posts(tables: &Tables) -> table_runtime::Result<()> {
    Post::key("Marcus", 1).get(tables).await?;
    Post::by_key("Marcus").range(1..5).filter(|post| post.title.eq("x")).all(tables).await?;
    tables.insert(&Post { author: "Marcus".into(), id: 1, title: "x".into() }).await?;
    Ok(())
}

fn main() {}
