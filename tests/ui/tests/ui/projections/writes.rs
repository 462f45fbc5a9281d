use table_runtime::{Projection, TableEntity};

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

use table_runtime::Tables;

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    id: u32,
    title: String,
}

async fn writes(tables: &Tables, mut headline: Headline) {
    let _ = tables.update(&mut headline).await;
    let _ = tables.remove(Post::key("Marcus", 1).select::<Headline>()).await;
}

fn main() {}
