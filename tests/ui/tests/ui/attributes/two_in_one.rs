use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Product {
    #[partition_key, row_key]
    sku: String,
}

fn main() {}
