use table_runtime::{Projection, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline<'a> {
    title: &'a str,
    likes: u32,
}

async fn returned(tables: &Tables) {
    let _ = Post::by_key("Marcus").select::<Headline<'_>>().all(tables).await;
}

fn main() {}
