use table_runtime::{Copied, Stored, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(likes, same_partition, copy)]
    likes: u32,
    url: Option<String>,
}

fn taken(stored: Stored<Post>) -> String {
    stored.title
}

fn changed(mut copied: Copied<Post>) {
    copied.likes = 5;
}

fn main() {}
