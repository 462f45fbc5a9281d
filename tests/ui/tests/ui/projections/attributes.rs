use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    #[property(skip)]
    cached: bool,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    #[property(rename = "Title")]
    title: String,
    #[projection(rename = "Likes")]
    likes: u32,
}

#[derive(Projection)]
struct OfNone {
    title: String,
}

#[derive(Projection)]
#[projection(off = Post)]
struct Misspelt {
    title: String,
}

fn main() {}
