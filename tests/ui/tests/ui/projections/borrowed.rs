use table_runtime::{Projection, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    #[property(skip)]
    cached: bool,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline<'a> {
    title: &'a str,
    likes: u32,
}

async fn returned(tables: &Tables) {
    let _ = Post::by_key("Marcus").select::<Headline<'_>>().all(tables).await;
    let _ = Post::by_key("Marcus").select::<Headline<'_>>().first(tables).await;
    let _ = Post::by_key("Marcus").select::<Headline<'_>>().page(tables, 10, None).await;
    let _ = Post::by_key("Marcus").select::<Headline<'_>>().stream(tables);
    let _ = Post::key("Marcus", 1).select::<Headline<'_>>().get(tables).await;
}

async fn kept(tables: &Tables) {
    let mut titles = Vec::new();
    let headlines = Post::by_key("Marcus").select::<Headline<'_>>();
    let _ = headlines.for_each(tables, |headline| titles.push(headline.title)).await;
}

fn main() {}
