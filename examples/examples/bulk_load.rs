//! A bulk load of generated rows with progress, compared with single inserts.
//!
//! `insert_all` packs the rows of a partition into transactions of 100 and runs 16 of them side by side. It consumes
//! the input as it writes, so the memory does not grow with the length of the input. The error lists each row that was
//! not written, with the reason. An `upsert_all` can resume from there.
//!
//! ```sh
//! cargo run --release -p examples --example bulk_load
//! ```
//!
//! It writes a million rows, or as many as `--rows` says, to a file that it deletes afterwards. With `--features azure`
//! it writes to the account whose connection string follows `--account` (`UseDevelopmentStorage=true` for Azurite, with
//! fewer rows), into a table of its own that it deletes afterwards.

use std::{path::PathBuf, time::Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
#[cfg(feature = "azure")]
use table_runtime::backend::{AzureBackend, BackendExt as _};
use table_runtime::{Error, TableEntity, Tables};

#[derive(Parser)]
#[command(about = "Loads generated rows and prints how fast that is")]
struct Options {
    /// Number of rows to load.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
    /// Number of rows to insert one by one, for comparison.
    #[arg(long, default_value_t = 200)]
    single: u32,
    /// Connection string of an account to load into, instead of a file.
    #[cfg(feature = "azure")]
    #[arg(long)]
    account: Option<String>,
}

/// Reading of a thermometer. A partition has ten thousand readings, in the order of their numbers.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "BulkLoadReadings")]
struct Reading {
    #[partition_key]
    sensor: u32,
    #[row_key]
    number: u32,
    celsius: f64,
    note: String,
}

const OF_ONE_SENSOR: u32 = 10_000;

fn reading(number: u32) -> Reading {
    let celsius = f64::from(number % 500) / 10.0 - 10.0;
    Reading { sensor: number / OF_ONE_SENSOR, number, celsius, note: format!("reading {number} of a generated series") }
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    #[cfg(feature = "azure")]
    if let Some(account) = &options.account {
        let backend = AzureBackend::connect(account)?;
        let loaded = load(&Tables::connect(account)?, &options).await;
        let deleted = backend.delete_table("BulkLoadReadings").await;
        loaded?;
        return Ok(deleted.map(drop)?);
    }
    let folder = Folder::new()?;
    let file = folder.0.join("load.tables");
    let tables = Tables::open(&file)?;
    load(&tables, &options).await?;
    drop(tables);
    println!("the file has {} MB", std::fs::metadata(file)?.len() / 1_000_000);
    Ok(())
}

async fn load(tables: &Tables, options: &Options) -> Result<()> {
    tables.create::<Reading>().await?;

    let begin = Instant::now();
    for number in 0..options.single {
        tables.insert(&reading(number)).await?;
    }
    let single = f64::from(options.single) / begin.elapsed().as_secs_f64();
    println!("one by one: {single:.0} rows/s");

    // Some of the rows exist already. An upsert replaces them; `insert_all` would report each of them.
    let bar = ProgressBar::new(options.rows.into())
        .with_style(ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} rows, {per_sec}, {eta} left")?);
    let begin = Instant::now();
    let shown = bar.clone();
    let load = tables.upsert_all((0..options.rows).map(reading));
    let done = match load.progress(move |progress| shown.set_position(progress.written as u64)).await {
        Ok(done) => done,
        Err(Error::Bulk(error)) => {
            // The error lists every failure. After a transient error, the load can be resumed.
            for failure in error.failures.iter().take(3) {
                eprintln!("row {}: {}", failure.position, failure.error);
            }
            eprintln!("resuming from row {}", error.resume_from);
            let rest = (0..options.rows).skip(error.resume_from).map(reading);
            tables.upsert_all(rest).await?
        }
        Err(error) => return Err(error.into()),
    };
    bar.finish_and_clear();
    let (took, rate) = (begin.elapsed(), f64::from(options.rows) / begin.elapsed().as_secs_f64());
    println!("{} rows in {}: {rate:.0} rows/s", HumanCount(done.written as u64), HumanDuration(took));
    println!("in bulk: {:.0} times as fast", rate / single);
    if let Some(peak) = peak_memory() {
        println!("peak memory: {peak} MB");
    }

    let last = options.rows.checked_sub(1).context("no rows")?;
    let found = Reading::key(last / OF_ONE_SENSOR, last).get(tables).await?.context("the last row")?;
    assert_eq!(found.note, reading(last).note);
    let first_sensor = Reading::by_key(0).count(tables).await?;
    assert_eq!(first_sensor, usize::try_from(options.rows.max(options.single).min(OF_ONE_SENSOR))?);
    println!("sensor 0 has {first_sensor} rows");
    Ok(())
}

/// Returns the peak memory of this process in MB, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1000)
}

/// Folder that is deleted when this value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("bulk_load-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The system clears remaining temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
