use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, PartialEq, Eq, Hash)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

fn sorted(mut posts: Vec<Stored<Post>>) {
    posts.sort_by_key(|post| &post.title);
}

async fn moved(tables: &Tables) -> Result<()> {
    let query = Post::by_key("Marcus");
    query.filter(|post| post.likes.ge(5));
    query.take(10);
    query.all(tables).await?;
    Ok(())
}

async fn pages(tables: &Tables) -> Result<()> {
    let query = Post::by_key("Marcus");
    let mut cursor = None;
    loop {
        let page = query.clone().page(tables, 20, cursor).await?;
        cursor = page.next.as_deref();
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn main() {}
