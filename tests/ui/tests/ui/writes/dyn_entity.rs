use table_runtime::TableEntity;

#[derive(TableEntity, PartialEq, Eq, PartialOrd, Ord)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    url: Option<String>,
}

fn all() -> Vec<Box<dyn TableEntity>> {
    Vec::new()
}

fn main() {}
