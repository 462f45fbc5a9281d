use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
    views: u64,
}

fn main() {}
