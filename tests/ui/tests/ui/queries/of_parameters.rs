use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Event<K> {
    #[partition_key]
    source: K,
    #[row_key]
    number: u32,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
}

#[derive(TableEntity)]
#[table(partition = "all")]
struct Setting {
    #[row_key]
    name: String,
}

async fn count_of<K>(tables: &Tables, source: K) -> Result<usize> {
    Event::<K>::by_key(source).count(tables).await
}

async fn append<K>(tables: &Tables, event: Event<K>) -> Result<()> {
    tables.insert(&event).await?;
    Ok(())
}

async fn run(tables: &Tables, post: Post) -> Result<()> {
    tables.remove(post.key()).await?;
    Setting::key("all", "theme").get(tables).await?;
    Ok(())
}

fn main() {}
