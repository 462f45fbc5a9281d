use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Visit {
    #[partition_key(hash = 16)]
    #[row_key]
    id: u32,
    page: String,
}

async fn run(tables: &Tables) -> Result<()> {
    Visit::by_key(3).all(tables).await?;
    Ok(())
}

fn main() {}
