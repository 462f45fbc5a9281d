use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Shop {
    #[partition_key]
    country: String,
    #[row_key]
    id: u32,
    address: Address,
}

#[derive(Projection)]
#[projection(of = Shop)]
struct Place {
    city: String,
}

fn main() {}
