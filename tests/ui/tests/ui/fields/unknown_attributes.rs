use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[unique]
    title: String,
    #[expires]
    until: std::time::SystemTime,
}

fn main() {}
