//! Measures what the recording of events costs, beside the same entity without, and how many events a relay delivers:
//! `cargo bench -p benches --bench event_rates`.

use std::time::{Duration, Instant};

use anyhow::Result;
use table_runtime::{TableEntity, Tables, types::HasEvents};
use tokio::task::JoinSet;

/// The works are repeated in turn, so that a machine that becomes slower meanwhile concerns them all.
const ROUNDS: u64 = 9;

/// An entity, with events or without.
trait Order: TableEntity + Clone {
    fn new(number: u64) -> Self;

    fn in_shop(self, shop: u32) -> Self;
}

macro_rules! orders {
    ($($name:ident $table:literal [$($events:tt)*])+) => {$(
        #[derive(TableEntity, Clone)]
        #[table(name = $table, $($events)*)]
        struct $name {
            #[partition_key]
            shop: u32,
            #[row_key]
            number: u64,
            customer: String,
            total: i64,
            note: String,
        }

        impl Order for $name {
            fn new(number: u64) -> Self {
                let (customer, note) = (format!("customer {number}"), "a note of about forty characters".to_owned());
                Self { shop: 1, number, customer, total: 100, note }
            }

            fn in_shop(self, shop: u32) -> Self {
                Self { shop, ..self }
            }
        }
    )+};
}

orders! {
    Plain "Plains" []
    Recorded "Recordeds" [events]
    Copied "Copieds" [events(copy)]
}

/// Returns the time of one of so many single inserts by so many tasks.
async fn single<O: Order>(tables: &Tables, first: u64, tasks: u64, total: u64) -> Result<Duration> {
    let (mut running, begun) = (JoinSet::new(), Instant::now());
    for task in 0..tasks {
        let tables = tables.clone();
        running.spawn(async move {
            for number in (first..first + total).skip(usize::try_from(task)?).step_by(usize::try_from(tasks)?) {
                tables.insert(&O::new(number)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(begun.elapsed() / u32::try_from(total)?)
}

/// Returns the time of one insert of a bulk load.
async fn bulk<O: Order>(tables: &Tables, first: u64, total: u64) -> Result<Duration> {
    let begun = Instant::now();
    tables.insert_all((first..first + total).map(O::new)).await?;
    Ok(begun.elapsed() / u32::try_from(total)?)
}

async fn round<O: Order>(tables: &Tables, round: u64, total: u64) -> Result<[Duration; 3]> {
    let first = round * 3 * total;
    Ok([
        single::<O>(tables, first, 1, total).await?,
        single::<O>(tables, first + total, 64, total).await?,
        bulk::<O>(tables, first + 2 * total, total).await?,
    ])
}

/// Number of events that a relay delivers, and of their partitions.
const EVENTS: (u64, u32) = (10_000, 100);

/// Returns the time of the delivery of an event to a consumer that does nothing.
async fn delivery<O: Order + HasEvents>(tables: &Tables) -> Result<Duration> {
    let (events, partitions) = EVENTS;
    // Earlier works have left events, and this one leaves none.
    tables.relay::<O>().deliver_once(async |_| anyhow::Ok(())).await?;
    let orders =
        (0..events).map(|number| O::new(u64::MAX - number).in_shop(u32::try_from(number).unwrap_or(0) % partitions));
    tables.upsert_all(orders).await?;
    let begun = Instant::now();
    let done = tables.relay::<O>().deliver_once(async |_| anyhow::Ok(())).await?;
    anyhow::ensure!(done.delivered as u64 == events, "{done:?}");
    Ok(begun.elapsed() / u32::try_from(events)?)
}

/// Returns the median of several rounds.
async fn delivered<O: Order + HasEvents>(tables: &Tables) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(delivery::<O>(tables).await?);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = Tables::open(folder.path().join("orders.tables"))?;
    for (store, tables, total) in [("memory", Tables::in_memory()?, 10_000), ("file", file, 1_000)] {
        tables.create::<Plain>().and::<Recorded>().and::<Copied>().await?;
        let mut times: [Vec<[Duration; 3]>; 3] = Default::default();
        for number in 0..ROUNDS {
            times[0].push(round::<Plain>(&tables, number, total).await?);
            times[1].push(round::<Recorded>(&tables, number, total).await?);
            times[2].push(round::<Copied>(&tables, number, total).await?);
        }
        for (at, work) in ["one task", "64 tasks", "insert_all"].into_iter().enumerate() {
            let median = |times: &[[Duration; 3]]| {
                let mut times: Vec<_> = times.iter().map(|times| times[at]).collect();
                times.sort_unstable();
                times[times.len() / 2]
            };
            let [plain, recorded, copied] = [&times[0], &times[1], &times[2]].map(|times| median(times));
            let ratio = |time: Duration| time.as_secs_f64() / plain.as_secs_f64();
            println!(
                "{store}, {work}: {plain:.2?} an insert, with events {recorded:.2?} ({:.2}×), with copies {copied:.2?} ({:.2}×)",
                ratio(recorded),
                ratio(copied)
            );
        }
        for (name, time) in
            [("events", delivered::<Recorded>(&tables).await?), ("copies", delivered::<Copied>(&tables).await?)]
        {
            println!(
                "{store}: {time:.2?} for the delivery of one of 10,000 {name}, {:.0} a second",
                1.0 / time.as_secs_f64()
            );
        }
    }
    Ok(())
}
