use table_runtime::{Result, TableEntity, Tables, types::PointKey};

async fn read<K: PointKey>(tables: &Tables, key: K) -> Result<bool> {
    Ok(key.get(tables).await?.is_some())
}

async fn written<E: TableEntity>(tables: &Tables, entity: &E) -> Result<()> {
    tables.transaction().insert(entity).commit().await?;
    Ok(())
}

fn main() {}
