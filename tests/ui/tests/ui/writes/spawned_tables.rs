use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
    published: bool,
    url: Option<String>,
}

fn spawn<F: Future + Send + 'static>(_: F) {}

async fn run(tables: &Tables) -> Result<()> {
    spawn(async move { Post::by_key("Marcus").count(tables).await });
    Ok(())
}

fn main() {}
