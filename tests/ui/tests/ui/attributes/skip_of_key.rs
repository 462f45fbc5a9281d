use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[property(skip)]
    author: String,
    #[row_key]
    id: u32,
}

fn main() {}
