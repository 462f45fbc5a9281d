//! Writes rows into an embedded store and prints each acknowledged one, until the process is killed: `program loader
//! STORE`.

use std::io::{self, Write};

use anyhow::Result;
use table_runtime::Tables;
use tests::load::Loaded;

use crate::Arguments;

/// Number of tasks that write side by side.
const TASKS: u32 = 8;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let tables = Tables::open(arguments.next("a store")?)?;
    tables.create::<Loaded>().await?;
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(load(tables.clone(), task))).collect();
    for task in tasks {
        // The tasks end only with the process or with an error.
        task.await.unwrap_or(Ok(()))?;
    }
    Ok(())
}

async fn load(tables: Tables, task: u32) -> table_runtime::Result<()> {
    for number in 0.. {
        tables.insert(&Loaded::new(task, number)).await?;
        // Even rows are changed, and every tenth row is deleted.
        if number % 2 == 0 {
            tables.patch(Loaded::key(task, number), |row| [row.text.set("patched")]).await?;
        }
        if number % 10 == 9 {
            tables.remove(Loaded::key(task, number)).await?;
        }
        let line = format!("{task} {number}\n");
        if io::stdout().lock().write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    Ok(())
}
