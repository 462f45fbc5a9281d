use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(likes, when = "is_liked")]
    likes: u32,
}

fn main() {}
