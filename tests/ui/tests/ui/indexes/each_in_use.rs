use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(tag, each, lowercase, same_partition)]
    #[property(json)]
    tags: Vec<String>,
}

async fn run(tables: &Tables, tags: Vec<String>) -> Result<()> {
    tables.patch(Post::key("a", 1), |post| [post.tags.set(tags.clone())]).await?;
    Post::by_tag("a").eq(&tags).all(tables).await?;
    Post::by_tags("a").all(tables).await?;
    Post::by_tag("a").filter(|post| post.tags.eq(tags.clone())).all(tables).await?;
    Ok(())
}

fn main() {}
