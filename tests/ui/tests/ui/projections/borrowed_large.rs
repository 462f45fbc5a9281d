use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Novel {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(large)]
    body: String,
}

#[derive(Projection)]
#[projection(of = Novel)]
struct Body<'a> {
    body: &'a str,
}

fn main() {}
