//! Measures how fast tasks modify one row together, and how long one of them waits:
//! `cargo bench -p benches --bench modify_rates`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use table_runtime::{TableEntity, Tables, backend::InMemoryBackend};
use tests::far::Far;
use tokio::task::JoinSet;

/// Numbers of tasks. The first is the reference.
const WRITERS: [usize; 7] = [1, 2, 4, 8, 16, 64, 256];
/// Time after which the distant store answers.
const DISTANCE: Duration = Duration::from_millis(20);
/// The works are repeated in turn, so that a machine that becomes slower meanwhile concerns them all.
const ROUNDS: usize = 7;

#[derive(TableEntity, Clone)]
#[table(row = "visits")]
struct Visits {
    #[partition_key]
    page: String,
    count: u32,
}

/// What one work took.
#[derive(Clone, Copy)]
struct Measured {
    /// Modifications a second.
    rate: f64,
    /// Time of one modification.
    median: Duration,
    longest: Duration,
}

/// Modifies a new row, so often in all, by so many tasks.
async fn measure(tables: &Tables, page: String, writers: usize, total: usize) -> Result<Measured> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..writers {
        let (tables, first) = (tables.clone(), Visits { page: page.clone(), count: 1 });
        tasks.spawn(async move {
            let mut times = Vec::with_capacity(total / writers);
            for _ in 0..total / writers {
                let begun = Instant::now();
                tables.modify_or_insert(&first, |visits| visits.count += 1).await?;
                times.push(begun.elapsed());
            }
            Ok::<_, table_runtime::Error>(times)
        });
    }
    let mut times = Vec::with_capacity(total);
    while let Some(done) = tasks.join_next().await {
        times.extend(done??);
    }
    let rate = f64::from(u32::try_from(times.len())?) / begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let (median, longest) = times.get(times.len() / 2).zip(times.last()).context("times")?;
    Ok(Measured { rate, median: *median, longest: *longest })
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = Tables::open(folder.path().join("visits.tables"))?;
    let far = Tables::new(Far::new(InMemoryBackend::new()?).after(DISTANCE));
    // The numbers of modifications of each task, and the greatest of all tasks.
    let stores = [
        ("memory", Tables::in_memory()?, 500, 10_240),
        ("file", file, 100, 5_120),
        ("20 ms away", far, 20, usize::MAX),
    ];
    for (store, tables, each, most) in stores {
        tables.create::<Visits>().await?;
        let mut best: [Option<Measured>; WRITERS.len()] = [None; WRITERS.len()];
        for round in 0..ROUNDS {
            for (best, writers) in best.iter_mut().zip(WRITERS) {
                let total = (each * writers).max(4 * each).min(most);
                let measured = measure(&tables, format!("/{round}/{writers}"), writers, total).await?;
                if best.is_none_or(|best| best.rate < measured.rate) {
                    *best = Some(measured);
                }
            }
        }
        let one = best[0].context("the reference")?.rate;
        for (Measured { rate, median, longest }, writers) in best.into_iter().flatten().zip(WRITERS) {
            let (of_one, of_median) = (rate / one, longest.as_secs_f64() / median.as_secs_f64());
            println!(
                "{store}, {writers} tasks: {rate:.0} a second ({of_one:.2}×), median {median:.1?}, longest {longest:.1?} \
                 ({of_median:.0}×)"
            );
        }
    }
    Ok(())
}
