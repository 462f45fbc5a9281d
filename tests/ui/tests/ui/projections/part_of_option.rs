use table_runtime::{Projection, Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    address: Option<Address>,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Label {
    #[projection(path = address.city)]
    city: String,
}

fn main() {}
