use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key(lowercase, uppercase)]
    author: String,
    posted: std::time::SystemTime,
    edited: std::time::SystemTime,
    id: u32,
    title: String,
    price: rust_decimal::Decimal,
    sold: rust_decimal::Decimal,
    rate: rust_decimal::Decimal,
}

fn main() {}
