use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn run(tables: &Tables, first: Post) -> Result<()> {
    tables.modify_or_insert(Post::key("Marcus", 1), first, |post| post.likes += 1).await?;
    Ok(())
}

async fn patched(tables: &Tables, post: Post) -> Result<()> {
    tables.patch(Post::key("Marcus", 1), &post).await?;
    Ok(())
}

async fn of_query(tables: &Tables, posts: Vec<Result<Post>>) -> Result<()> {
    Post::by_key("Marcus").patch_all(tables, |post| [post.likes.set(5)]).await?;
    tables.try_insert_all(posts).await?;
    tables.patch(Post::key("Marcus", 1), |post| [post.likes.inc(1)]).await?;
    Ok(())
}

async fn saved(tables: &Tables) -> Result<()> {
    tables.dump("backup.jsonl").await?;
    Ok(())
}

/// As `for_each_fault`.
async fn with_faults<T>(program: impl AsyncFn(Tables) -> T) {}

async fn pay(tables: &Tables, author: &str) {}

async fn tested() {
    with_faults(|tables| pay(&tables, "Marcus")).await;
}

async fn read(tables: &Tables) -> Result<u32> {
    let post = Post::key("Marcus", 1).get(tables).await?;
    Ok(post.likes)
}

fn main() {}
