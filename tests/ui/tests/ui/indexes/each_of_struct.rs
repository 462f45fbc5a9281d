use serde::{Deserialize, Serialize};
use table_runtime::TableEntity;

#[derive(Serialize, Deserialize)]
struct Labels {
    all: Vec<String>,
}

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(label, each, same_partition)]
    #[property(json)]
    labels: Labels,
}

fn main() {}
