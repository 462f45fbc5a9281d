//! The embedded store after its process was killed.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};
use table_runtime::{Error, Tables};
use tests::load::Loaded;

/// Running `loader`, killed when it is dropped.
struct Loader(Child);

impl Loader {
    fn start(store: &Path) -> Result<Self> {
        let child = Command::new(env!("CARGO_BIN_EXE_program"))
            .arg("loader")
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the loader cannot be started")?;
        Ok(Self(child))
    }

    /// Kills the loader, by `SIGKILL` on Unix. Returns the task and number of each acknowledged write.
    fn kill(mut self, after: Option<usize>) -> Result<Vec<(u32, u32)>> {
        let output = self.0.stdout.take().context("no output")?;
        let mut acknowledged = Vec::new();
        let mut lines = BufReader::new(output).lines();
        for line in lines.by_ref().take(after.unwrap_or(0)) {
            acknowledged.push(parse(&line?)?);
        }
        self.0.kill()?;
        self.0.wait()?;
        // Lines that it wrote before it died are acknowledgements too. The last line may be incomplete.
        for line in lines {
            acknowledged.extend(parse(&line?).ok());
        }
        Ok(acknowledged)
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn parse(line: &str) -> Result<(u32, u32)> {
    let (task, number) = line.split_once(' ').context("two numbers")?;
    Ok((task.parse()?, number.parse()?))
}

#[tokio::test]
async fn acknowledged_writes_survive_a_kill() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("killed.tables");
    let acknowledged = Loader::start(&store)?.kill(Some(600))?;
    assert!(acknowledged.len() >= 600, "{}", acknowledged.len());

    let tables = Tables::open(&store)?;
    for (task, number) in &acknowledged {
        let found = Loaded::key(*task, *number).get(&tables).await?;
        let text = found.map(|row| row.text.clone());
        let expected = match number {
            number if number % 10 == 9 => None,
            number if number % 2 == 0 => Some("patched".to_owned()),
            _ => Some(Loaded::new(*task, *number).text),
        };
        assert_eq!(text, expected, "row {number} of task {task}");
    }
    // A write without acknowledgement is complete or missing, so every row can be read.
    for task in 0..8 {
        let rows = Loaded::by_key(task).all(&tables).await?;
        let last = acknowledged.iter().filter(|(of, _)| *of == task).map(|(_, number)| *number).max();
        let next = last.map_or(0, |last| last + 1);
        assert!(rows.iter().all(|row| row.number <= next), "task {task} wrote one row at a time");
    }
    // The store accepts writes again.
    tables.upsert(&Loaded::new(0, u32::MAX)).await?;
    assert!(Loaded::key(0, u32::MAX).exists(&tables).await?);
    Ok(())
}

#[tokio::test]
async fn a_file_can_be_opened_after_a_kill_during_its_creation() -> Result<()> {
    for moment in 0..24 {
        let folder = tempfile::tempdir()?;
        let store = folder.path().join("killed.tables");
        let loader = Loader::start(&store)?;
        // The creation begins with a file of another name.
        while fs::read_dir(&folder)?.next().is_none() {
            tokio::time::sleep(Duration::from_micros(50)).await;
        }
        tokio::time::sleep(Duration::from_micros(500 * moment)).await;
        loader.kill(None)?;
        let tables = Tables::open(&store).with_context(|| format!("killed at moment {moment}"))?;
        tables.create::<Loaded>().await?;
        tables.upsert(&Loaded::new(0, 0)).await?;
        assert_eq!(Loaded::key(0, 0).get(&tables).await?.as_deref(), Some(&Loaded::new(0, 0)));
    }
    Ok(())
}

#[tokio::test]
async fn a_second_process_gets_an_error_that_the_file_is_in_use() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("shared.tables");
    let mut loader = Loader::start(&store)?;
    let output = loader.0.stdout.as_mut().context("no output")?;
    BufReader::new(output).read_line(&mut String::new())?;
    match Tables::open(&store) {
        Err(error @ Error::InUse(_)) => assert!(error.to_string().contains("shared.tables"), "{error}"),
        other => panic!("{other:?}"),
    }
    drop(loader);
    Tables::open(&store)?;
    Ok(())
}
