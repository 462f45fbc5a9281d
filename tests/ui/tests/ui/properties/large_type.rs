use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    street: String,
    #[property(large)]
    number: u16,
}

#[derive(TableEntity)]
struct Novel {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(large)]
    words: u32,
    #[property(large)]
    published: Option<f64>,
    #[property(large)]
    address: Address,
    #[property(large)]
    chapters: Vec<String>,
}

fn main() {}
