use table_runtime::TableEntity;

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

fn main() {}
