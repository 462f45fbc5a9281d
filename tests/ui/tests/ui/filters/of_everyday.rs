use table_runtime::{Result, TableEntity, Tables, filter::Filter};

#[derive(TableEntity, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables, most: Option<u32>) -> Result<()> {
    Post::by_key("Marcus").filter(|post| post.likes.ge(1).and(most.map(|most| post.likes.le(most)))).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.title.is_empty()).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.title.as_str().eq("Keys")).all(tables).await?;
    Post::by_key("Marcus").filter(|_| Filter::new()).all(tables).await?;
    Ok(())
}

fn main() {}
