//! A program that reads a row: `reader CONNECTION_STRING TABLE PARTITION_KEY ROW_KEY`. Prints whether the row exists.

use anyhow::Result;
use table_runtime::backend::{AzureBuilder, BackendExt};

use crate::Arguments;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let connection_string = arguments.next("a connection string")?;
    let [table, partition_key, row_key] =
        [arguments.next("a table")?, arguments.next("a partition key")?, arguments.next("a row key")?];
    let service = AzureBuilder::from_connection_string(&connection_string)?.max_attempts(1).build()?;
    let row = service.get(&table, &partition_key, &row_key, None).await?;
    println!("{}", row.is_some());
    Ok(())
}
