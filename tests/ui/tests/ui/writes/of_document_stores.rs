use table_runtime::{Error, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables, post: &Post) -> Result<()> {
    tables.put_item().item(post).send().await?;
    let after: Stored<Post> = tables.find_one_and_update(Post::key("Marcus", 1), |post| post.likes += 1).await?;
    println!("{}", after.title);
    tables.incr(Post::key("Marcus", 1), |post| post.likes).await?;
    let pipeline = tables.pipeline();
    pipeline.insert(post).execute().await?;
    for post in tables.batch_get([Post::key("Marcus", 1)]).await? {
        println!("{}", post.title);
    }
    if tables.exists(Post::key("Marcus", 1)).await? {
        tables.delete_by_key(Post::key("Marcus", 1)).await?;
    }
    tables.update_if_match(post, "etag").await?;
    tables.purge_expired::<Post>().await?;
    for table in tables.list_tables().await? {
        println!("{table}");
    }
    tables.ping().await?;
    tables.backup("posts.jsonl").await?;
    tables.import("posts.jsonl").await?;
    tables.watch(Post::by_key("Marcus")).await?;
    tables.create::<Post>().run().await?;
    Ok(())
}

async fn save(tables: &Tables, post: &Post) -> Result<()> {
    match tables.insert(post).await {
        Err(error) if error.is_retryable() => Err(Error::custom(error.message())),
        other => other.map(|_| ()),
    }
}

fn main() {}
