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
}

fn main() {}
