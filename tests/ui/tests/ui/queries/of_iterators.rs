use table_runtime::{BoxedRows, Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

async fn run(tables: &Tables, boxed: BoxedRows<Stored<Post>>) -> Result<()> {
    Post::by_key("Marcus").enumerate();
    Post::by_key("Marcus").fold(0, |sum, post| sum + post.likes);
    Post::by_key("Marcus").chain(Post::by_key("Ada")).all(tables).await?;
    boxed.filter(|post| true).all(tables).await?;
    Ok(())
}

async fn boxed(tables: &Tables, boxed: BoxedRows<Stored<Post>>) -> Result<()> {
    let done = boxed.delete_all(tables).await?;
    println!("{}", done.written);
    Ok(())
}

async fn skipped(tables: &Tables) -> Result<()> {
    let done = Post::by_key("Marcus").skip_unreadable(|_| ()).delete_all(tables).await?;
    println!("{}", done.written);
    Post::by_key("Marcus").soft_delete(tables).await?;
    tables.delete_many(Post::by_key("Marcus")).await?;
    tables.patch_all(Post::by_key("Marcus"), |post| [1]).await?;
    Ok(())
}

fn main() {}
