use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Posts")]
struct PostV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = PostV1)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

impl From<PostV1> for Post {
    fn from(PostV1 { author, id, title }: PostV1) -> Self {
        Self { author, id, title, likes: 0 }
    }
}

async fn like(tables: &Tables) {
    let _ = tables.patch(Post::key("Marcus", 1), |post| [post.likes.set(1)]).await;
    let _ = tables.transaction().patch(Post::key("Marcus", 1), |post| [post.likes.set(1)]).commit().await;
}

fn main() {}
