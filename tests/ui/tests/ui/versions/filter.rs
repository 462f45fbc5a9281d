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

async fn liked(tables: &Tables) {
    let _ = Post::by_key("Marcus").filter(|post| post.likes.ge(10)).all(tables).await;
}

fn main() {}
