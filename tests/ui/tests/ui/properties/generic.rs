use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Span<T> {
    from: T,
    to: T,
}

#[derive(Property)]
#[property(tag = "kind")]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    pages: Span<u32>,
}

fn main() {}
