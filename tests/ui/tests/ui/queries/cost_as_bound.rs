use table_runtime::{Query, TableEntity, cost};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

fn bound(_: impl Query<Entity = Post, Cost: cost::Lookups>) {}

fn main() {}
