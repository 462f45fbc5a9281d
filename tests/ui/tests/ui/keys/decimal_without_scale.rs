use rust_decimal::Decimal;
use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Price {
    #[partition_key]
    article: String,
    #[row_key]
    amount: Decimal,
}

#[derive(TableEntity)]
struct Order {
    #[partition_key]
    #[row_key]
    id: u32,
    #[index(total, reverse, unique)]
    total: Option<Decimal>,
}

fn main() {}
