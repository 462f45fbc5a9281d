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

async fn run(tables: &Tables) -> Result<()> {
    tables.verify::<Post>().and::<Post>().all().await?;
    let repair = std::pin::pin!(tables.repair::<Post>());
    is_future(tables.repair::<Post>());
    Ok(())
}

fn is_future<F: Future>(_: F) {}

fn main() {}
