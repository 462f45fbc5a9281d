use table_runtime::{TableEntity, Transaction};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

fn add(transaction: &mut Transaction<'_>, post: &Post) {
    transaction.insert(post);
}

fn main() {}
