use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

fn is_short(city: u32) -> bool {
    city < 5
}

#[derive(TableEntity)]
#[index(short, same_partition, row(id), when(address.city, is_short))]
struct Predicate {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
}

fn main() {}
