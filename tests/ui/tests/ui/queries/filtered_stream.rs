use futures_util::StreamExt as _;
use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(likes, same_partition, copy)]
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables) -> usize {
    Post::by_key("Marcus").stream(tables).filter(|post| async { post.likes > 3 }).count().await
}

fn main() {}
