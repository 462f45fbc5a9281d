use table_runtime::{TableEntity};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title, lowercase, same_partition)]
    title: String,
    likes: u32,
    url: Option<String>,
}

fn key<T: TableEntity>(author: &str) {
    let _ = T::key(author, 1);
}

fn main() {}
