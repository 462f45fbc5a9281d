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
    Post::by_key("Marcus").filter(|post| post.title.ends_with("ys")).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.body.exists()).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.title.eq_ignore_case("keys")).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.likes.one_of([1, 2])).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.published.is_true()).all(tables).await?;
    tables.patch(Post::key("Marcus", 1), |post| [post.likes.add(1)]).await?;
    tables.patch(Post::key("Marcus", 1), |post| [post.body.unset()]).await?;
    Ok(())
}

fn main() {}
