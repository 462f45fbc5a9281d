//! Paths in indexes and projections that lead nowhere, or not to a part of a key.

use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
    geo: Option<Geo>,
}

#[derive(Property)]
struct Geo {
    lat: f64,
}

fn is_short(city: u32) -> bool {
    city < 5
}

#[derive(TableEntity)]
#[index(city, same_partition, row(address.citty))]
struct Misspelt {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
}

#[derive(TableEntity)]
#[index(lat, same_partition, row(address.geo.lat))]
struct Float {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
}

#[derive(Property)]
struct Page {
    #[property(large)]
    body: String,
}

#[derive(TableEntity)]
#[index(body, same_partition, row(page.body))]
struct Long {
    #[partition_key]
    #[row_key]
    id: u32,
    page: Page,
}

#[derive(TableEntity)]
#[index(short, same_partition, row(id), when(address.city, is_short))]
struct Predicate {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
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

#[derive(Projection)]
#[projection(of = Customer)]
struct Lat {
    #[projection(path = address.geo.lat)]
    lat: f64,
}

#[derive(Projection)]
#[projection(of = Customer)]
struct Text {
    #[projection(path = "address.city")]
    city: String,
}

fn main() {}
