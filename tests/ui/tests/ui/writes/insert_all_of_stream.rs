use table_runtime::{Result, TableEntity, Tables};

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

async fn run(tables: &Tables, posts: Vec<Post>) -> Result<()> {
    tables.insert_all(futures_util::stream::iter(posts)).await?;
    Ok(())
}

fn main() {}
