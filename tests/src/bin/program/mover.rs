//! Migrates the accounts of a store beside four writers, and prints a cursor after each page: `program mover STORE
//! COUNT SEED [CURSOR]`.

use std::io::{self, Write};

use anyhow::Result;
use table_runtime::Tables;
use tests::moved::{self, LEASE, Writers};

use crate::Arguments;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let path = arguments.next("a store")?;
    let (count, seed) = (arguments.next("a number of accounts")?.parse()?, arguments.next("a seed")?.parse()?);
    let tables = Tables::open(path)?.with_lease(LEASE);
    let writers = Writers::start(|| tables.with_lease(LEASE), count, seed);
    let mut migration = moved::migration(&tables);
    if let Some(cursor) = arguments.optional() {
        migration = migration.resume_from(&cursor)?;
    }
    let migration = migration.progress(|progress| {
        let cursor = progress.cursor.as_deref().unwrap_or_default();
        // The migration continues even if the reader has closed the pipe.
        let _ = io::stdout().lock().write_all(format!("{} {cursor}\n", progress.entities).as_bytes());
    });
    let moved = migration.await?;
    let written = writers.stop().await?;
    println!("moved {}, switched: {}, writes: {}", moved.entities, moved.switched, written > 0);
    Ok(())
}
