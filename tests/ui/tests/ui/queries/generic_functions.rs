use std::fmt;

use table_runtime::{ETag, Error, Query, Result, Stored, TableEntity, Tables};

#[derive(TableEntity, Clone)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

async fn change<T: TableEntity>(tables: &Tables, key: table_runtime::Point<T>, change: impl FnOnce(&mut T)) -> Result<()> {
    tables.modify(key, |entity| change(entity)).await?;
    Ok(())
}

impl Stored<Post> {
    fn is_popular(&self) -> bool {
        self.likes > 100
    }
}

impl fmt::Display for Stored<Post> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

fn main() {}
