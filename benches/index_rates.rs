//! Measures how fast indexes are built and what concurrent writes to one list cost:
//! `cargo bench -p benches --bench index_rates`.

use std::time::{Duration, Instant};

use anyhow::Result;
use table_runtime::{TableEntity, Tables};
use tests::filled::{self, Handled};
use tokio::task::JoinSet;

const ENTITIES: u32 = 100_000;
const WRITERS: u32 = 16;
const EACH: u32 = 50;

#[derive(TableEntity)]
#[table(name = "Listed")]
struct Listed {
    #[partition_key]
    shelf: u8,
    #[row_key]
    number: u32,
    #[index(tag, same_partition, list)]
    tag: String,
}

#[derive(TableEntity)]
#[table(name = "Unlisted")]
struct Unlisted {
    #[partition_key]
    shelf: u8,
    #[row_key]
    number: u32,
    #[index(tag, same_partition)]
    tag: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("filled.tables");
    let begun = Instant::now();
    filled::load(&path, ENTITIES).await?;
    println!("loaded {ENTITIES} entities in {:.1?}", begun.elapsed());
    let tables = Tables::open(&path)?;
    tables.create::<Handled>().await?;
    for (backfill, kind) in [
        (tables.backfill::<Handled>("name"), "same_partition, unique"),
        (tables.backfill::<Handled>("city"), "cross-partition"),
        (tables.backfill::<Handled>("handle"), "cross-partition, unique"),
    ] {
        let begun = Instant::now();
        let filled = backfill.await?;
        let rate = f64::from(u32::try_from(filled.written)?) / begun.elapsed().as_secs_f64();
        println!("{kind}: {} rows in {:.1?}, {rate:.0} a second", filled.written, begun.elapsed());
    }
    let begun = Instant::now();
    let findings = tables.verify::<Handled>().all().await?.len();
    println!("verify: {findings} findings in {:.1?}", begun.elapsed());

    for (store, tables) in [("memory", Tables::in_memory()?), ("file", tables)] {
        tables.create::<Listed>().await?;
        tables.create::<Unlisted>().await?;
        let unlisted = write(&tables, |number| Unlisted { shelf: 1, number, tag: "tag".into() }).await?;
        let listed = write(&tables, |number| Listed { shelf: 1, number, tag: "tag".into() }).await?;
        let ratio = listed.as_secs_f64() / unlisted.as_secs_f64();
        println!(
            "{store}, {WRITERS} writers: an insert into one list {listed:.2?}, without it {unlisted:.2?}: {ratio:.0} times",
        );
    }
    Ok(())
}

/// Returns the time of an insert while many tasks insert.
async fn write<E: TableEntity>(tables: &Tables, entity: fn(u32) -> E) -> Result<Duration> {
    let begun = Instant::now();
    let writers = (0..WRITERS).map(|writer| {
        let tables = tables.clone();
        async move {
            for number in writer * EACH..(writer + 1) * EACH {
                tables.insert(&entity(number)).await?;
            }
            Ok::<_, table_runtime::Error>(())
        }
    });
    for written in writers.collect::<JoinSet<_>>().join_all().await {
        written?;
    }
    Ok(begun.elapsed() / (WRITERS * EACH))
}
