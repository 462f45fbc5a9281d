use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Visit {
    #[partition_key]
    page: String,
    #[row_key]
    id: u32,
}

struct Page {
    url: String,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.create_all::<(Visit, Page)>().await
}

fn main() {}
