use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large, text)]
    note: String,
}

fn main() {}
