//! A migration beside writers whose process is killed.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use table_runtime::{Error, Tables, backend::BackendExt};
use tests::{
    depth::Depth,
    moved::{self, Account, LEASE, Writers},
    reporting::Reporting,
    stores::Kind,
};

/// Starts the `mover` of this store.
fn start(store: &Path, seed: u32, cursor: Option<&str>) -> Result<Reporting> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_program"));
    Reporting::start(command.arg("mover").arg(store).arg(accounts().to_string()).arg(seed.to_string()).args(cursor))
}

/// Number of accounts. Each killed process moves a part of them.
fn accounts() -> u32 {
    Depth::choose(40_000, 200_000, 200_000)
}

#[tokio::test]
async fn a_killed_migration_beside_writers_resumes() -> Result<()> {
    let accounts = accounts();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("accounts.tables");
    moved::load(&Tables::open(&path)?, accounts).await?;
    let mut cursor = start(&path, 1, None)?.kill_after(accounts / 3)?;
    cursor = start(&path, 2, Some(&cursor))?.kill_after(accounts / 3)?;
    cursor = start(&path, 3, Some(&cursor))?.kill_after(accounts / 4)?;
    let last = start(&path, 4, Some(&cursor))?.last()?;
    ensure!(last.ends_with("switched: true, writes: true"), "{last}");
    let tables = Tables::open(&path)?;
    let moved = moved::check(&tables, accounts).await?;
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
