use std::collections::HashSet;

use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone, PartialEq, Eq, Hash)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

struct Dto;

impl From<Post> for Dto {
    fn from(_: Post) -> Self {
        Self
    }
}

impl From<&Post> for Dto {
    fn from(_: &Post) -> Self {
        Self
    }
}

fn line(post: &Post) -> String {
    post.title.clone()
}

fn lists(posts: Vec<Stored<Post>>) {
    let all: Vec<Post> = posts.iter().map(Stored::into_inner).collect();
    let lines: Vec<String> = posts.iter().map(line).collect();
    let dtos: Vec<Dto> = posts.iter().map(Dto::from).collect();
    let dtos: Vec<Dto> = posts.into_iter().map(Into::into).collect();
}

fn one(stored: Stored<Post>) -> Post {
    stored.into()
}

fn set(posts: Vec<Stored<Post>>) -> HashSet<Stored<Post>> {
    posts.into_iter().collect()
}

async fn least(tables: &Tables, least: Option<u32>, url: &Option<String>) -> Result<()> {
    Post::by_key("Marcus").filter(|post| post.likes.ge(least)).all(tables).await?;
    Post::by_key("Marcus").filter(|post| post.url.eq(url)).all(tables).await?;
    Post::by_key("Marcus").filter("Likes ge 5").all(tables).await?;
    Post::by_key("Marcus").filter(|_| Post::columns().likes.ge(5)).all(tables).await?;
    Post::by_key("Marcus").count_unchecked(tables).await?;
    Ok(())
}

fn main() {}
