//! Loads rows into an embedded store, names each once it is acknowledged, and goes on until it is ended from outside.

use std::io::{self, Write};

use table_runtime::{Result, Tables};
use tests::load::Loaded;

/// Tasks that write side by side.
const TASKS: u32 = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "loader.tables".into());
    let tables = Tables::open(path)?;
    tables.create::<Loaded>().await?;
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(load(tables.clone(), task))).collect();
    for task in tasks {
        // They end with the process only, or with an error.
        task.await.unwrap_or(Ok(()))?;
    }
    Ok(())
}

async fn load(tables: Tables, task: u32) -> Result<()> {
    for number in 0.. {
        tables.insert(&Loaded::new(task, number)).await?;
        // Even and odd rows live differently: the even ones are changed, every tenth is deleted again.
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
