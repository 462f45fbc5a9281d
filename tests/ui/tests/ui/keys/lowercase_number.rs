use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(lowercase)]
    id: u32,
}

fn main() {}
