use table_runtime::{Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn chosen(popular: bool) -> impl Query<Entity = Post, Item = Stored<Post>> {
    match popular {
        true => Post::by_key("Marcus").filter(|post| post.likes.ge(5)),
        false => Post::by_key("Marcus"),
    }
}

async fn read(tables: &Tables) -> Result<()> {
    let stream = Post::by_key("Marcus").stream(tables).await?;
    Post::by_key("Marcus").filter(|post| post.likes.gt(post.id));
    tables.create::<Post, Post>().await?;
    let [first, second] = tables.get_many([Post::key("Marcus", 1), Post::key("Marcus", 2)]).await?;
    println!("{}", Post::table_name());
    let posts = Post::by_key("Marcus").all(tables).await?;
    let posts: Vec<Post> = posts.into_iter().collect();
    Ok(())
}

fn main() {}
