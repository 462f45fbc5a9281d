use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    #[property(skip)]
    author: String,
    #[row_key]
    #[property(default)]
    id: u32,
}

#[derive(TableEntity)]
struct Options {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(skip, rename = "Cache")]
    cached: String,
    #[property(json, text)]
    tags: String,
}

fn main() {}
