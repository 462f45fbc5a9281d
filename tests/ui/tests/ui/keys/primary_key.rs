use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[primary_key]
    id: u32,
    title: String,
}

fn main() {}
