//! Builds an index of a store and prints a cursor after each page: `program filler STORE INDEX [CURSOR]`.

use std::io::{self, Write};

use anyhow::Result;
use table_runtime::Tables;
use tests::filled::Filled;

use crate::Arguments;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let (path, index) = (arguments.next("a store")?, arguments.next("an index")?);
    let tables = Tables::open(path)?;
    tables.create::<Filled>().await?;
    let mut backfill = tables.backfill::<Filled>(&index);
    if let Some(cursor) = arguments.optional() {
        backfill = backfill.resume_from(&cursor)?;
    }
    let backfill = backfill.progress(|progress| {
        let cursor = progress.cursor.as_deref().unwrap_or_default();
        // The backfill continues even if the reader has closed the pipe.
        let _ = io::stdout().lock().write_all(format!("{} {cursor}\n", progress.entities).as_bytes());
    });
    let filled = backfill.await?;
    println!("{} entities, {} rows, ready: {}", filled.entities, filled.written, filled.ready);
    Ok(())
}
