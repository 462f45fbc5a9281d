use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
}

#[derive(Projection)]
#[projection(of = Customer)]
struct Card {
    #[projection(path = address.citty)]
    city: String,
}

fn main() {}
