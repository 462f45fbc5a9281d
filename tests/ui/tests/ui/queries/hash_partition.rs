use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Visit {
    #[partition_key]
    page: String,
    #[row_key]
    id: u32,
}

async fn run(tables: &Tables) -> Result<()> {
    Visit::by_key("/").hash_partition(3).all(tables).await?;
    Ok(())
}

fn main() {}
