use table_runtime::{Property, Result, TableEntity, Tables};

#[derive(Property)]
enum State {
    Open,
    Closed,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    state: State,
}

struct PostColumns;

fn main() {}
