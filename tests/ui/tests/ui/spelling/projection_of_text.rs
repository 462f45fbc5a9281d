use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

#[derive(Projection)]
#[projection("Post")]
struct Headline {
    title: String,
}

fn main() {}
