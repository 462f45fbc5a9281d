//! Migrates the accounts of a store beside four writers, and prints a cursor after each page: `mover STORE COUNT SEED
//! [CURSOR]`.

use std::{
    env,
    io::{self, Write},
};

use anyhow::{Context, Result};
use table_runtime::Tables;
use tests::moved::{self, LEASE, Writers};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let mut next = |what: &'static str| arguments.next().context(what);
    let (path, count, seed) = (next("a store")?, next("a number of accounts")?.parse()?, next("a seed")?.parse()?);
    let tables = Tables::open(path)?.with_lease(LEASE);
    let writers = Writers::start(|| tables.clone().with_lease(LEASE), count, seed);
    let mut migration = moved::migration(&tables);
    if let Some(cursor) = arguments.next() {
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
