use table_runtime::TableEntity;

#[derive(TableEntity)]
#[row_key]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
    title: String,
}

fn main() {}
