use serde::{Deserialize, de::DeserializeOwned};
use table_runtime::{Stored, TableEntity};

#[derive(TableEntity, Deserialize)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
}

fn body<T: DeserializeOwned>() -> Option<T> {
    None
}

fn run() -> Option<Stored<Post>> {
    body::<Stored<Post>>()
}

fn main() {}
