use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(rename(get = "one", scan = "all rows"))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn main() {}
