use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Reading {
    #[partition_key]
    site: String,
    #[row_key]
    value: f64,
}

fn main() {}
