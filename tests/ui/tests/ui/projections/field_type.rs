use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    id: u64,
    likes: u32,
}

fn main() {}
