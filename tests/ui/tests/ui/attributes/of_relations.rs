use table_runtime::{Property, TableEntity};

#[derive(Property)]
enum State {
    Open,
    #[property(other)]
    Unknown,
}

#[derive(TableEntity)]
struct Order {
    #[pk]
    customer: String,
    #[sk]
    number: u32,
    #[column(name = "state")]
    state: State,
    #[foreign_key(Employee)]
    seller: u32,
}

#[derive(TableEntity)]
#[table(version = 3, from = [OrderV1, OrderV2])]
#[index(total, state)]
struct Listed {
    #[partition_key]
    customer: String,
    #[row_key]
    number: u32,
    total: u32,
    state: u32,
}

#[derive(TableEntity)]
struct Bare {
    #[partition_key]
    customer: String,
    #[row_key]
    number: u32,
    #[index]
    total: u32,
}

#[derive(TableEntity)]
#[table(version = revision)]
#[index(by_total, pk(total), sk(number))]
struct Counted {
    #[partition_key]
    customer: String,
    #[row_key]
    number: u32,
    total: u32,
    #[property(as = i32)]
    revision: u32,
    etag: table_runtime::ETag,
}

#[derive(TableEntity)]
struct Country {
    #[row_key]
    code: String,
    name: String,
}

fn key() {
    Country::key("DE");
}

fn main() {}
