use table_runtime::TableEntity;

struct PostV1;

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
    fn from(_: PostV1) -> Self {
        Self { author: String::new(), id: 0, title: String::new(), likes: 0 }
    }
}

fn main() {}
