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
struct Headline<'a> {
    author: &'a str,
    id: &'a u32,
    title: Option<&'a str>,
    likes: Cow<'a, u32>,
    email: &'a str,
    tags: &'a [u8],
}

#[derive(Projection)]
#[projection(of = Post)]
struct OfTwo<'a, 'b> {
    author: Cow<'a, str>,
    title: &'b str,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Unnamed {
    title: &str,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Static {
    title: &'static str,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Unused<'a> {
    title: String,
}

fn main() {}
