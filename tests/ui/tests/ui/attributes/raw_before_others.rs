use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(raw)]
    author: String,
    #[row_key(raw)]
    title: String,
    #[row_key]
    id: u32,
}

fn main() {}
