use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase, uppercase)]
    author: String,
    #[row_key(time, reverse_time)]
    posted: std::time::SystemTime,
    #[row_key(reverse, time)]
    edited: std::time::SystemTime,
    #[row_key(lowercase, pad = 8)]
    id: u32,
    #[row_key(raw, first = 3)]
    title: String,
    #[row_key(scale = 2, lowercase)]
    price: rust_decimal::Decimal,
    #[row_key(scale = 2, time)]
    sold: rust_decimal::Decimal,
    #[row_key(scale = 29)]
    rate: rust_decimal::Decimal,
}

fn main() {}
