use std::fs::{self, File};

use table_runtime::Tables;

async fn load(tables: &Tables) -> Result<(), Box<dyn std::error::Error>> {
    tables.load("backup.jsonl").await?;
    tables.load(File::open("backup.jsonl")?).await?;
    tables.load(fs::read("backup.jsonl")?).await?;
    Ok(())
}

fn main() {}
