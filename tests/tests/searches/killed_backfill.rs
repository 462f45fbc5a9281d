//! A backfill on the embedded store whose process is killed.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, ensure};
use table_runtime::Tables;
use tests::{
    depth::Depth,
    filled::{self, CITIES, Filled},
    reporting::Reporting,
};

/// Number of entities. The process is killed when half of them have their index rows.
fn entities() -> u32 {
    Depth::choose(30_000, 100_000, 100_000)
}

/// Starts the `filler` of this store.
fn start(store: &Path, index: &str, cursor: Option<&str>) -> Result<Reporting> {
    Reporting::start(Command::new(env!("CARGO_BIN_EXE_program")).arg("filler").arg(store).arg(index).args(cursor))
}

/// Counts the entities that the index finds.
async fn count(tables: &Tables, index: &str) -> Result<usize> {
    let mut count = 0;
    if index == "city" {
        for city in 0..CITIES {
            count += Filled::by_city(city).count_unchecked(tables).await?;
        }
    } else {
        for group in 0..entities() / 1000 {
            count += Filled::by_name(group).count_unchecked(tables).await?;
        }
    }
    Ok(count)
}

#[tokio::test]
async fn a_killed_backfill_resumes_to_the_same_result() -> Result<()> {
    let entities = entities();
    let folder = tempfile::tempdir()?;
    let [killed, whole] = ["killed.tables", "whole.tables"].map(|name| folder.path().join(name));
    filled::load(&killed, entities).await?;
    fs::copy(&killed, &whole)?;
    for index in ["name", "city"] {
        let cursor = start(&killed, index, None)?.kill_after(entities / 2)?;
        let refused = Filled::by_city(1).count_unchecked(&Tables::open(&killed)?).await;
        ensure!(refused.is_err(), "the index is not built");
        let last = start(&killed, index, Some(&cursor))?.last()?;
        ensure!(last.starts_with(&format!("{} entities", entities / 2)) && last.ends_with("ready: true"), "{last}");
        let last = start(&whole, index, None)?.last()?;
        ensure!(
            last.starts_with(&format!("{entities} entities, {entities} rows")) && last.ends_with("ready: true"),
            "{last}"
        );
    }
    let findings = Tables::open(&killed)?.verify::<Filled>().all().await?;
    ensure!(findings.is_empty(), "{} findings", findings.len());
    for store in [&killed, &whole] {
        let tables = Tables::open(store)?;
        for index in ["name", "city"] {
            ensure!(count(&tables, index).await? == entities as usize, "{index}");
        }
        for number in [0, 1, entities / 2 - 1, entities / 2, entities - 1] {
            let filled = Filled::new(number);
            let found = Filled::by_name(filled.group).eq(&filled.name).get(&tables).await?;
            ensure!(found.as_deref() == Some(&filled), "{found:?}");
        }
    }
    Ok(())
}
