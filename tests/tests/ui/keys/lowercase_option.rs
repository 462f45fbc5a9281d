use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase)]
    #[row_key(uppercase)]
    author: Option<String>,
}

fn main() {}
