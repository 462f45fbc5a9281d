use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Invoice {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(scale = 2)]
    total: f64,
}

fn main() {}
