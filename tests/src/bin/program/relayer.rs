//! Writes entities, prints what each write did, and delivers the events into a file, until the process is killed: `program
//! relayer STORE FILE SEED`.

use std::{
    fs::OpenOptions,
    io::{self, Write},
};

use anyhow::Result;
use table_runtime::Tables;
use tests::relayed::{self, Relayed, TASKS};

use crate::Arguments;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let tables = Tables::open(arguments.next("a store")?)?;
    let file = OpenOptions::new().create(true).append(true).open(arguments.next("a file")?)?;
    let seed = arguments.next("a seed")?.parse()?;
    tables.create::<Relayed>().await?;
    let report = |written: &[relayed::Write]| {
        let lines: Vec<_> = written.iter().map(ToString::to_string).collect();
        // The writes continue even if the reader has closed the pipe.
        let _ = io::stdout().lock().write_all(format!("{}\n", lines.join("\n")).as_bytes());
    };
    let tasks: Vec<_> =
        (0..TASKS).map(|task| tokio::spawn(relayed::write(tables.clone(), task, seed, report))).collect();
    relayed::deliver(&tables, &file, false).await?;
    for task in tasks {
        task.await??;
    }
    Ok(())
}
