use table_runtime::Tables;

async fn dump(tables: &Tables) -> Result<(), Box<dyn std::error::Error>> {
    let mut backup = Vec::new();
    tables.dump(backup).await?;
    println!("{}", backup.len());
    Ok(())
}

fn main() {}
