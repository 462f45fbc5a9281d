use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: uuid::Uuid,
    likes: u32,
}

fn main() {}
