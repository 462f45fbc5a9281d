//! Paths of indexes whose fields are called as encodings are, or as the types of other languages.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
pub struct Place {
    pub first: String,
    pub time: u32,
}

#[derive(Property)]
#[allow(non_snake_case)]
pub struct Address {
    pub City: String,
}

#[derive(TableEntity)]
#[index(first, same_partition, row(place.first))]
#[index(late, same_partition, row(place.time(reverse)))]
#[index(city, same_partition, row(address.City(lowercase)))]
#[index(author, partition(author))]
pub struct Visit {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    place: Place,
    address: Address,
}

pub fn queries() {
    drop(Visit::by_first("Marcus").starts_with("Bo"));
    drop(Visit::by_late("Marcus").range(1..5));
    drop(Visit::by_city("Marcus").eq("bonn"));
    drop(Visit::by_author("Marcus"));
}
