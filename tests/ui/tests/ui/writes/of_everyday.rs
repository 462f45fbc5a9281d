use std::time::SystemTime;

use table_runtime::{ETag, Projection, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    title: String,
}

impl Headline {
    fn of(post: &Stored<Post>) -> Self {
        post
    }
}

async fn run(tables: &Tables, post: Post, mut posts: Vec<Stored<Post>>) -> Result<()> {
    tables.undelete(Post::key("Marcus", 1)).await?;
    tables.empty_bin::<Post>().await?;
    tables.update_if(&post, &ETag::new("etag")).await?;
    tables.soft_delete_all(Post::by_key("Marcus")).await?;
    println!("{}", tables.insert_all([post]).await?.failures);
    let post: Stored<Post> = Post::key("Marcus", 1).get(tables).await?.unwrap_or_default();
    posts.sort();
    tables.clone().with_lease(time::Duration::minutes(1));
    Ok(())
}

fn main() {}
