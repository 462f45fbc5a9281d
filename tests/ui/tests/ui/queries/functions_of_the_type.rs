use table_runtime::{Result, Stored, TableEntity, Tables};

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

#[derive(TableEntity)]
struct Visit {
    #[partition_key(hash = 16)]
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    Post::partitions(tables);
    Visit::by_partitions(0..4);
    Post::by_key("Marcus").filter(Post::likes.ge(5)).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.likes.ge(5)).or_filter(|post| post.likes.eq(1)).all(tables).await?;
    Post::by_partitions("A".."M").eq(1).all(tables).await?;
    Post::by_key("Marcus").distinct().all(tables).await?;
    Ok(())
}

async fn boxed(tables: &Tables) -> Result<Vec<Stored<Post>>> {
    Post::by_key("Marcus").skip_unreadable(|_| ()).boxed().all(tables).await
}

async fn pages(tables: &Tables) -> Result<()> {
    let page = Post::by_key("Marcus").page(tables, 20, None).await?;
    page.next(tables).await?;
    tables.create_index::<Post>("title").await?;
    Ok(())
}

fn main() {}
