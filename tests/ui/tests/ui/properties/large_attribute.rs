use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large, text)]
    note: String,
    total: u64,
    body: String,
    text: String,
}

fn main() {}
