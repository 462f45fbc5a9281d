use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase)]
    #[row_key(lowercase)]
    author: Option<String>,
}

fn main() {}
