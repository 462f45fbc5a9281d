use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Debug, PartialEq)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

async fn run(tables: &Tables, post: Post) -> Result<()> {
    let read = Post::key("Marcus", 1).get(tables).await?;
    assert_eq!(read, Some(post));
    Ok(())
}

fn main() {}
