//! `tables verify`.

use std::io::Write;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use table_runtime::inventory::{Inventory, RecordedEntity};

use crate::{
    arguments::Verify,
    cursor::{CursorFile, Transfer, resumed},
    failure::Failure,
    progress::ProgressLine,
    store::Store,
};

/// Number of problems that are printed.
const PRINTED: usize = 1000;

/// The position of a verification.
#[derive(Default, Serialize, Deserialize)]
struct VerifyPosition {
    cursor: Option<String>,
    entities: usize,
    index_rows: usize,
    problems: usize,
}

/// Returns the recorded entity that has this name, or has had it.
pub(crate) fn entity_called<'i>(inventory: &'i Inventory, name: &str) -> Result<&'i RecordedEntity, Failure> {
    let found = inventory.entities.iter().find(|entity| entity.names.iter().any(|known| known == name));
    found.ok_or_else(|| Failure::missing(format!("the catalog has no entity {name}")))
}

/// Compares entities with the rows of their indexes.
pub(crate) async fn verify(store: &Store, verify: &Verify, out: &mut impl Write) -> Result<(), Failure> {
    let (entity, read) = (verify.entity.as_deref(), verify.reading.described());
    let transfer = Transfer::of(&[
        Some(b"verify"),
        Some(store.identity.as_bytes()),
        entity.map(str::as_bytes),
        Some(read.as_bytes()),
    ]);
    let cursor = CursorFile::new(verify.resuming.cursor.as_deref(), transfer);
    let begun: VerifyPosition = cursor.read()?.unwrap_or_default();
    let inventory = store.tables.inventory().await?;
    let chosen = match entity {
        None => None,
        Some(name) => Some(entity_called(&inventory, name)?),
    };
    let line = ProgressLine::new("rows compared");
    let mut job = verify.reading.apply(inventory.verify(&store.tables, chosen));
    if let Some(bytes) = verify.memory {
        job = job.memory(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    if let Some(ranges) = verify.sample {
        job = job.sample(ranges.get());
    }
    if let Some(seed) = verify.seed {
        job = job.seed(seed);
    }
    let mut job = line.follow(resumed(job, begun.cursor.as_deref())?, |progress| {
        cursor.save(&VerifyPosition {
            cursor: progress.cursor.clone(),
            entities: begun.entities + progress.entities,
            index_rows: begun.index_rows + progress.index_rows,
            problems: begun.problems + progress.findings,
        })
    });
    let mut problems = begun.problems;
    while let Some(finding) = line.watch(job.next()).await? {
        let finding = finding?;
        problems += 1;
        if problems <= PRINTED {
            line.suspend(|| writeln!(out, "{finding}"))?;
        }
    }
    let verified = line.watch(job).await??;
    drop(line);
    cursor.remove()?;
    let (entities, index_rows) = (begun.entities + verified.entities, begun.index_rows + verified.index_rows);
    writeln!(out, "{entities} entities and {index_rows} index rows compared")?;
    if let Some(sample) = &verified.sample {
        writeln!(out, "{sample}")?;
    }
    for index in &verified.partly {
        writeln!(out, "not compared completely: {index}")?;
    }
    match problems {
        0 => Ok(()),
        1 => Err(Failure::found("1 problem was found")),
        problems => Err(Failure::found(format!("{problems} problems were found"))),
    }
}
