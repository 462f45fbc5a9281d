//! `tables copy`.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use table_runtime::transfer::RowReader;

use crate::{
    arguments::Copy,
    cursor::{CursorFile, Transfer, resumed},
    failure::Failure,
    progress::{self, ProgressLine, Skipped},
    rows,
    store::{Mode, StoreArguments},
};

/// The position of a copy.
#[derive(Clone, Default, Serialize, Deserialize)]
struct CopyPosition {
    cursor: Option<String>,
    rows: u64,
    skipped: Skipped,
}

/// Copies rows from one store to another.
pub(crate) async fn copy(stores: &StoreArguments, copy: &Copy) -> Result<(), Failure> {
    if copy.source == copy.target {
        return Err(Failure::input("FROM and TO are the same store"));
    }
    let (dry_run, mode) = (copy.writing.dry_run, Mode::writing(copy.writing.dry_run));
    let source = stores.open_other(&copy.source, Mode::Read)?;
    let (from, to) = (stores.identity(&copy.source)?, stores.identity(&copy.target)?);
    let (table, partition) = (copy.table.as_deref(), copy.partition.as_deref());
    let transfer = Transfer::of(&[
        Some(b"copy"),
        Some(from.as_bytes()),
        Some(to.as_bytes()),
        table.map(str::as_bytes),
        partition.map(str::as_bytes),
        Some(copy.shared.described().as_bytes()),
        copy.events.then_some(b"events"),
    ]);
    let cursor = CursorFile::new(copy.writing.resuming.cursor.as_deref(), transfer);
    let begun: Option<CopyPosition> = cursor.read()?;
    let selection = rows::selection(&source, table, partition, copy.events);
    // A file is created only once the source can be read.
    RowReader::new(&source.tables, selection.clone()).await?;
    let target = stores.open_other(&copy.target, mode)?;
    target.check_begun(begun.is_some())?;
    let begun = begun.unwrap_or_default();
    let all_skipped = Mutex::new(begun.skipped.clone());
    let skipped = || all_skipped.lock().unwrap_or_else(PoisonError::into_inner);
    let line = ProgressLine::new("rows copied");
    let job = source.tables.copy_to(&target.tables).rows(selection);
    let mut job = copy.writing.apply(copy.shared.apply(job));
    if copy.skip {
        job = job.skip_invalid(|error| skipped().add(error.to_string()));
    }
    let job = line.follow(resumed(job, begun.cursor.as_deref())?, |progress| {
        if !cursor.is_given() {
            return Ok(());
        }
        let skipped = skipped().clone();
        let rows = begun.rows + progress.rows as u64 - skipped.since(&begun.skipped);
        cursor.save(&CopyPosition { cursor: progress.cursor.clone(), rows, skipped })
    });
    let copied = line.watch(job).await??;
    drop(line);
    cursor.remove()?;
    progress::report(begun.rows + copied.rows, if dry_run { "can be copied" } else { "copied" });
    skipped().report();
    Ok(())
}
