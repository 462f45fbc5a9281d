use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key]
    pub number: u32,
    #[index(title, lowercase, same_partition)]
    pub title: String,
    pub likes: u32,
    pub published: bool,
    pub body: Option<String>,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").top(3).all(tables).await?;
    Post::by_key("Marcus").after("cursor").all(tables).await?;
    Post::by_key("Marcus").desc().all(tables).await?;
    Post::by_title("Marcus").prefix("Ke").all(tables).await?;
    Post::by_title("Marcus").ends_with("ys").all(tables).await?;
    Post::by_key("Marcus").fetch_optional(tables).await?;
    Post::by_key("Marcus").fetch_one(tables).await?;
    Post::by_key("Marcus").is_empty(tables).await?;
    Post::by_key("Marcus").remove_all(tables).await?;
    Post::by_key("Marcus").sort_by_key(|post| post.likes).all(tables).await?;
    Post::by_key("Marcus").max(|post| post.likes).all(tables).await?;
    Post::by_key("Marcus").patch(tables, |post| [post.likes.set(1)]).await?;
    Post::key("Marcus", 1).fetch_one(tables).await?;
    Post::key("Marcus", 1).remove(tables).await?;
    Post::key("Marcus", 1).modify(tables, |post| post.likes += 1).await?;
    Ok(())
}

fn main() {}
