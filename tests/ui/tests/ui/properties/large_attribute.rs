use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large, text)]
    note: String,
    #[property(large, scale = 2)]
    total: u64,
    #[property(large, skip)]
    body: String,
    #[property(large, prefix = "Text")]
    text: String,
}

fn main() {}
