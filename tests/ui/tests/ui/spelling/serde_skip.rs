use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[serde(skip)]
    title: String,
}

fn main() {}
