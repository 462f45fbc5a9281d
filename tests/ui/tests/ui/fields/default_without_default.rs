use table_runtime::{Property, TableEntity};

#[derive(Property)]
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
}

fn main() {}
