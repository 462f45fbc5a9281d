use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    title: String,
}

fn main() {}
