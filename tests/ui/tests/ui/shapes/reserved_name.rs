use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
    timestamp: u32,
}

#[derive(TableEntity)]
struct Taken {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "")]
    address: Address,
}

fn main() {}
