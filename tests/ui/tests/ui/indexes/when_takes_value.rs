use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(likes, same_partition, when(likes, is_liked))]
    likes: u32,
}

fn is_liked(likes: u32) -> bool {
    likes > 0
}

fn main() {}
