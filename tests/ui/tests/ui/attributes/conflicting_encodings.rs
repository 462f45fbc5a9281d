use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase, uppercase)]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

fn main() {}
