use std::borrow::Cow;

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
struct OfTwo<'a, 'b> {
    author: Cow<'a, str>,
    title: &'b str,
}

fn main() {}
