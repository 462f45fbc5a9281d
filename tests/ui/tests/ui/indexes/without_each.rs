use std::collections::BTreeSet;

use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(tag, same_partition)]
    #[property(json)]
    tags: Vec<String>,
    #[index(email, unique)]
    #[property(json)]
    emails: BTreeSet<String>,
}

fn main() {}
