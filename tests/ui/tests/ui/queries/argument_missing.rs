use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    url: Option<String>,
    published: bool,
    likes: u32,
    #[property(json)]
    tags: Vec<String>,
}

async fn posts(tables: &Tables) {
    let _ = Post::key("Marcus").get(tables).await;
}

fn main() {}
