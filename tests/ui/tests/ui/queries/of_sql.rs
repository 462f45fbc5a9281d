use table_runtime::{Filter, Query, Result, Stored, TableEntity, Tables, cost};

#[derive(TableEntity, Clone, Debug)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    let query = Post::by_key("Marcus").id(1);
    let query = Post::by_key("Marcus");
    println!("{query} {}", query.to_sql());
    Post::by_key("Marcus").inner_join(Post::by_key("Ada")).all(tables).await?;
    Post::by_key("Marcus").select_only().column(|post| post.title).all(tables).await?;
    Post::by_key("Marcus").retain(|post| post.likes > 5).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.likes.eq(post.likes.max())).all(tables).await?;
    Post::by_key("Marcus").eq(1..5).all(tables).await?;
    Post::key("Marcus", ..).all(tables).await?;
    Post::key("Marcus", 1).skip_unreadable(|error| println!("{error}")).get(tables).await?;
    Ok(())
}

async fn titles(tables: &Tables, titles: &[String]) -> Result<Vec<Stored<Post>>> {
    let query = Post::by_key("Marcus");
    query.filter(|post| titles.iter().map(|title| post.title.eq(title)).fold(None, |any, one| any.or(one))).all(tables).await
}

fn is_popular(post: &Post) -> bool {
    post.likes > 5
}

async fn popular(tables: &Tables) -> Result<Vec<Stored<Post>>> {
    Post::by_key("Marcus").filter(is_popular).all(tables).await
}

fn equal(_: impl Query<Entity = Post, Cost = cost::Range>) {}

fn calls() {
    equal(Post::key("Marcus", 1));
}

fn main() {}
