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

async fn run(tables: &Tables) -> Result<()> {
    let posts = Post::by_key("Marcus").stream(tables);
    for await post in posts {
        println!("{}", post?.title);
    }
    Ok(())
}

fn main() {}
