use table_runtime::{Property, TableEntity};

#[derive(Property, PartialEq)]
enum Status {
    Open,
    Done,
}

#[derive(TableEntity)]
struct Job {
    #[partition_key]
    queue: String,
    #[row_key]
    id: u32,
    #[property(default)]
    status: Status,
    #[index(tag, same_partition)]
    tag: String,
}

fn main() {}
