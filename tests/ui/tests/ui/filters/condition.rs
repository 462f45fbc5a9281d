use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<usize> {
    Post::by_key("Marcus").filter(|post| if post.likes.ge(5) { post.title.ne("") } else { post.title.eq("") }).count(tables).await
}

fn main() {}
