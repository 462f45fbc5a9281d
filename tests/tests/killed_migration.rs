//! A migration beside writers whose process is killed.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use table_runtime::{Error, Tables, backend::Backend};
use tests::{
    moved::{self, Account, LEASE, Writers},
    stores::Kind,
};

/// Running `mover`, killed when it is dropped.
struct Mover(Child);

impl Mover {
    fn start(store: &Path, count: u32, seed: u32, cursor: Option<&str>) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mover"));
        command.arg(store).arg(count.to_string()).arg(seed.to_string()).args(cursor);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self(command.spawn().context("the mover cannot be started")?))
    }

    /// Reads its reports until it has copied this many accounts, then kills it, by `SIGKILL` on Unix. Returns its cursor.
    fn kill_after(mut self, entities: u32) -> Result<String> {
        let output = BufReader::new(self.0.stdout.take().context("no output")?);
        for line in output.lines() {
            let line = line?;
            let (seen, cursor) = line.split_once(' ').context("entities and a cursor")?;
            if seen.parse::<u32>()? >= entities {
                self.0.kill()?;
                self.0.wait()?;
                return Ok(cursor.to_owned());
            }
        }
        anyhow::bail!("the mover ended by itself");
    }

    /// Waits for the end of the process and returns its last line.
    fn last(mut self) -> Result<String> {
        let output = BufReader::new(self.0.stdout.take().context("no output")?);
        let last = output.lines().last().context("the mover wrote nothing")??;
        ensure!(self.0.wait()?.success(), "{last}");
        Ok(last)
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ACCOUNTS: u32 = 200_000;

#[tokio::test]
async fn a_killed_migration_beside_writers_resumes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("accounts.tables");
    moved::load(&Tables::open(&path)?, ACCOUNTS).await?;
    let mut cursor = Mover::start(&path, ACCOUNTS, 1, None)?.kill_after(ACCOUNTS / 3)?;
    cursor = Mover::start(&path, ACCOUNTS, 2, Some(&cursor))?.kill_after(ACCOUNTS / 3)?;
    cursor = Mover::start(&path, ACCOUNTS, 3, Some(&cursor))?.kill_after(ACCOUNTS / 4)?;
    let last = Mover::start(&path, ACCOUNTS, 4, Some(&cursor))?.last()?;
    ensure!(last.ends_with("switched: true, writes: true"), "{last}");
    let tables = Tables::open(&path)?;
    let moved = moved::check(&tables, ACCOUNTS).await?;
    ensure!(last.starts_with(&format!("moved {moved},")), "{moved} accounts: {last}");
    let refused = tables.create::<Account>().await;
    ensure!(matches!(refused, Err(Error::EntityMoved { .. })), "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_beside_writers_is_stopped_and_resumed_on_azurite() -> Result<()> {
    const ACCOUNTS: u32 = 5_000;

    if let Some(reason) = Kind::Azurite.off() {
        println!("not tested: {reason}");
        return Ok(());
    }
    let store = Kind::Azurite.open()?;
    let program = || store.again().with_lease(LEASE);
    moved::load(&program(), ACCOUNTS).await?;
    let writers = Writers::start(program, ACCOUNTS, 7);
    let mut cursor: Option<String> = None;
    for _ in 0..3 {
        let (sender, mut cursors) = tokio::sync::mpsc::unbounded_channel();
        let tables = program();
        let mut migration = moved::migration(&tables);
        if let Some(cursor) = &cursor {
            migration = migration.resume_from(cursor)?;
        }
        let migration = migration.progress(move |progress| {
            // The receiver may be gone.
            let _ = sender.send(progress.cursor.clone());
        });
        cursor = tokio::select! {
            moved = migration.into_future() => anyhow::bail!("it reports its first page: {moved:?}"),
            reported = cursors.recv() => reported.flatten(),
        };
    }
    let moved = moved::migration(&program()).await?;
    ensure!(moved.switched && writers.stop().await? > 0, "{moved:?}");
    assert_eq!(moved::check(&program(), ACCOUNTS).await?, moved.entities);
    for table in store.backend.list_tables("").await? {
        store.backend.delete_table(&table).await?;
    }
    Ok(())
}
