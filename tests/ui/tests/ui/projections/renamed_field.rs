use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    #[property(rename = "Title")]
    headline: String,
}

fn main() {}
