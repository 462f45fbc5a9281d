use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(scale = 2)]
    total: f64,
    #[property(scale = 40)]
    tax: f64,
    #[property(scale = 2, json)]
    items: Vec<String>,
}

#[derive(TableEntity)]
struct Invoice {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(scale = 2)]
    total: f64,
}

fn main() {}
