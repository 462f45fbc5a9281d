//! A version of the deployed program: `program deployed CONNECTION_STRING PREFIX VERSION`. It reads commands from its input,
//! `start`, `write N`, `backfill` and `check ROWS`, and answers each with a line: `ok` and what it found, or an error.

use std::io::{self, BufRead, Write};

use anyhow::{Context, Result, bail};
use table_runtime::Tables;
use tests::{
    deployed::{Rows, Version},
    moved::LEASE,
};

use crate::Arguments;

pub(crate) async fn run(mut arguments: Arguments) -> Result<()> {
    let account = Tables::connect(&arguments.next("a connection string")?)?;
    let tables = account.with_prefix(&arguments.next("a prefix")?).with_lease(LEASE);
    let number: usize = arguments.next("a version")?.parse()?;
    let version = *Version::ALL.get(number).context("a version from 0 to 2")?;
    for line in io::stdin().lock().lines() {
        let answer = match execute(version, &tables, &line?).await {
            Ok(answer) => format!("ok {answer}"),
            Err(error) => format!("{error:#}").replace('\n', " "),
        };
        writeln!(io::stdout().lock(), "{answer}")?;
    }
    Ok(())
}

async fn execute(version: Version, tables: &Tables, line: &str) -> Result<String> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("start", _) => version.start(tables).await?,
        ("write", n) => version.write(tables, n.parse()?).await?,
        ("backfill", _) => version.backfill(tables).await?,
        ("check", writes) => {
            // The rows are those of the writes so far: pairs of a version and a number.
            let mut rows = Rows::new();
            for write in writes.split_terminator(',') {
                let (version, n) = write.split_once(':').context("a version and a number")?;
                let version = Version::ALL.get(version.parse::<usize>()?).context("a version")?;
                version.note_write(&mut rows, n.parse()?);
            }
            return Ok(format!("{:?}", version.check(tables, &rows).await?));
        }
        _ => bail!("no command: {line}"),
    }
    Ok(String::new())
}
