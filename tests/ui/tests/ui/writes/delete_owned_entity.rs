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

async fn run(tables: &Tables) -> Result<()> {
    let post = Post { author: "Marcus".into(), id: 1, title: "Keys".into(), likes: 0, published: true, url: None };
    tables.delete(post).await?;
    Ok(())
}

fn main() {}
