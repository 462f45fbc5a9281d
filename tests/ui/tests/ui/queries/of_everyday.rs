use futures_util::stream;
use table_runtime::{Projection, Result, TableEntity, Tables};

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

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    title: String,
}

async fn run(tables: &Tables, from: Option<u32>) -> Result<()> {
    Post::by_key("Marcus").all::<Headline>(tables).await?;
    let mut query = Post::by_key("Marcus");
    if let Some(from) = from {
        query = query.range(from..);
    }
    for post in Post::by_key("Marcus").all(tables).await {
        println!("{}", post.title);
    }
    tables.patch(Post::key("Marcus", 1), |post| [post.likes.set(1)]).if_match("etag").await?;
    stream::select(Post::by_key("Marcus"), Post::by_key("Ada"));
    Ok(())
}

fn keys(post: Post) -> String {
    post.row_key()
}

async fn read(tables: &Tables) -> Result<()> {
    let mut posts = Post::by_key("Marcus").stream(tables);
    let post = posts.next().await?;
    Ok(())
}

async fn hints(tables: &Tables) -> Result<()> {
    Post::by_key("Marcus").use_index("title").all(tables).await?;
    Post::by_key("Marcus").with_expired().all(tables).await?;
    let page = Post::by_key("Marcus").page(tables, 20, None).await?;
    page.has_more();
    Ok(())
}

fn main() {}
