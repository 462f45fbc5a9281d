use table_runtime::{KeyPart, Property, TableEntity};

#[derive(KeyPart, Property, Clone)]
enum Status {
    Open,
    Closed,
}

#[derive(TableEntity)]
#[index(skill, each(skills), same_partition)]
struct Worker {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    #[property(json)]
    skills: Vec<String>,
}

#[derive(Property)]
struct Address {
    city: String,
    street: String,
}

#[derive(TableEntity)]
#[index(city, partition(address_city))]
struct Customer {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    address: Address,
    #[index(rating, same_partition)]
    rating: Option<f64>,
}

#[derive(TableEntity)]
#[migrate(from = OrderV1)]
struct Order {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
}

fn main() {}
