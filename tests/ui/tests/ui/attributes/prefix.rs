use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Second {
    #[partition_key(prefix = "a-")]
    author: String,
    #[row_key]
    id: u32,
    #[row_key]
    part: u32,
}

fn main() {}
