use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Product {
    #[primary_key]
    id: u32,
    title: String,
}

#[derive(TableEntity)]
struct Visit {
    #[hash_key]
    page: String,
    #[sort_key]
    number: u32,
}

#[derive(TableEntity)]
#[key(author, id)]
struct Post {
    author: String,
    id: u32,
}

fn main() {}
