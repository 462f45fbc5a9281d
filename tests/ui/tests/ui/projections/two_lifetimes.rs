use std::borrow::Cow;

use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Email(String);

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    email: Email,
    #[property(json)]
    tags: Vec<u8>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct OfTwo<'a, 'b> {
    author: Cow<'a, str>,
    title: &'b str,
}

fn main() {}
