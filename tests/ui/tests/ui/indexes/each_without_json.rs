use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(tag, each, same_partition)]
    tags: Vec<String>,
}

fn main() {}
