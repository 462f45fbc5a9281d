use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: Vec<u8>,
    likes: u32,
}

fn main() {}
