use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.require_events::<Post>().await
}

fn main() {}
