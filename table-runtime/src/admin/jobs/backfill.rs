//! Backfill: building an index that was added to an entity with rows.

use std::{fmt, future::IntoFuture};

use serde::{Deserialize, Serialize};
use table_store::{
    ETag, Error, Result, RowRef,
    backend::BoxFuture,
    error::{ParseCursorError, QueryError},
    unstable::observe::observed,
};

use super::{
    compare::{IndexComparison, Suspect},
    finding::Finding,
    hashes::{HashRange, Hashes, MEMORY},
    present::PresentRows,
    progress::{Progress, ProgressCallback},
    reindex::reindex,
    scan::{LayoutScan, ScanPosition, ScannedPage},
    verify::LocatedFinding,
};
use crate::{
    client::{pacing, tables::Tables},
    model::{entity::TableEntity, layout::Holds},
    read::cursor::{seal, unseal},
    write::index::{FoundEntity, Schema, Write, WrittenRow},
};

/// A backfill, which runs when it is awaited: see [`Tables::backfill`].
#[must_use = "a backfill does nothing until it is awaited"]
pub struct Backfill<'a> {
    tables: Tables,
    schema: Schema,
    layout: Result<usize>,
    /// The name to which cursors are bound.
    job: String,
    memory: usize,
    resumed: Option<FilledUntil>,
    dry_run: bool,
    on_progress: ProgressCallback<'a>,
}

/// The content of a cursor.
#[derive(Serialize, Deserialize)]
struct FilledUntil {
    pass: usize,
    range: HashRange,
    /// The position in the entities.
    position: ScanPosition,
}

/// The result of a backfill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backfilled {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of entities whose row in the index was missing or wrong, and was written. In a dry run, number of
    /// entities without such a row; an entity whose row another program writes meanwhile may be counted too.
    pub written: usize,
    /// Entities that share a value of a unique index with another one. As long as there are any, the index is not
    /// ready: change one of the two, and run the backfill again.
    pub conflicts: Vec<Finding>,
    /// `true` if queries may use the index from now on. A backfill that [continues](Backfill::from) an earlier one also
    /// counts the conflicts before its cursor, but does not list them again.
    pub ready: bool,
}

impl<'a> Backfill<'a> {
    /// Continues an earlier backfill of the same index at its [`Progress::cursor`]. Reads the rows of the index again,
    /// and the entities after the cursor.
    ///
    /// # Errors
    /// Returns [`Error::Cursor`] for a text that is not such a cursor, for a cursor of another index, and for a cursor
    /// from before a change of the entity's keys or indexes.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        let until: FilledUntil = unseal(cursor)?;
        self.scan().check(&until.position)?;
        // A cursor comes from outside of the program.
        if until.pass == 0 || !until.range.is_valid() {
            return Err(ParseCursorError::OtherQuery.into());
        }
        self.resumed = Some(until);
        Ok(self)
    }

    /// Sets the number of bytes for the hashes of the index's rows: 64 MiB if it is not set. Less memory takes more
    /// passes: see [`Tables::backfill`].
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Returns a scan of the entities.
    fn scan(&self) -> LayoutScan {
        LayoutScan::new(self.tables.backend().clone(), self.schema, &self.job, [0])
    }

    /// Returns the scan of a pass: after a cursor, bound to the record of a backfill that writes, and with the conflicts
    /// of earlier passes.
    fn scan_of_pass(
        &self,
        position: Option<&ScanPosition>,
        begun: Option<&ETag>,
        has_conflicts: bool,
    ) -> Result<LayoutScan> {
        let mut scan = self.scan();
        if let Some(position) = position {
            scan.resume_at(position.clone());
        }
        if let Some(begun) = begun {
            scan.bind(begun)?;
        }
        if has_conflicts {
            scan.note_conflict();
        }
        Ok(scan)
    }

    /// Writes nothing, and counts the entities without a row in the index.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Reports the progress after each page.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }
}

impl<'a> IntoFuture for Backfill<'a> {
    type Output = Result<Backfilled>;
    type IntoFuture = BoxFuture<'a, Result<Backfilled>>;

    fn into_future(self) -> Self::IntoFuture {
        let running = self.tables.begin_operation(|| self.schema.operation("backfill"));
        Box::pin(observed(running, run(self)))
    }
}

async fn run(mut backfill: Backfill<'_>) -> Result<Backfilled> {
    let Backfill { schema, dry_run, memory, .. } = backfill;
    let layout = std::mem::replace(&mut backfill.layout, Ok(0))?;
    let (tables, info) = (&backfill.tables, &schema.layouts[layout]);
    let write = Write::new(tables.clone(), schema)?;
    let begun = if dry_run { None } else { Some(tables.begin_index(schema, info).await?) };
    let (mut filled, mut progress) = (Backfilled::default(), Progress::default());
    let (mut pass, mut range, mut position) = match backfill.resumed.take() {
        Some(FilledUntil { pass, range, position }) => (pass, range, Some(position)),
        None => (1, HashRange::ALL, None),
    };
    let mut has_conflicts = false;
    // The rows of entities before a cursor are not compared with them.
    let mut has_stale = position.is_some() || pass > 1;
    loop {
        let mut scan = backfill.scan_of_pass(position.as_ref(), begun.as_ref(), has_conflicts)?;
        let hashes = Hashes::new(range, memory);
        let mut present = PresentRows::read(&write, layout, hashes, position.as_ref(), dry_run).await?;
        while let Some(page) = scan.next().await? {
            let mut found = committed(schema, &page)?;
            // Each pass reads all entities.
            filled.entities += if pass == 1 { found.len() } else { 0 };
            found.retain(|found| present.lacks(&write, found));
            if dry_run {
                filled.written += found.len();
            } else {
                if schema.layouts[layout].is_same_partition() && schema.holds(layout) != Holds::List {
                    // No transaction could delete an entity with more rows.
                    found.iter().try_for_each(|found| found.encoded.check_elements(&schema))?;
                }
                let (written, conflicts) = reindex(tables, schema, layout, found, false).await?;
                filled.written += written;
                filled.conflicts.extend(conflicts);
                if !filled.conflicts.is_empty() {
                    scan.note_conflict();
                }
            }
            progress.entities = filled.entities;
            progress.findings = filled.written + filled.conflicts.len();
            progress.fixed = if dry_run { 0 } else { filled.written };
            (progress.pass, progress.passes) = (pass, pass + present.passes_left());
            let range = present.range();
            progress.cursor = scan.position().and_then(|position| seal(&FilledUntil { pass, range, position }));
            if let Some(report) = &mut backfill.on_progress {
                report(&progress);
            }
            pacing::yield_now().await;
        }
        has_conflicts = scan.has_conflicts();
        has_stale |= present.has_stale();
        match present.next_range() {
            Some(next) => (pass, range, position) = (pass + 1, next, None),
            None => break,
        }
    }
    // Other rows are read together with their entities, and a repair deletes them.
    if has_stale && !dry_run && matches!(schema.holds(layout), Holds::Copy | Holds::Include) {
        remove_stale(&write, layout, memory).await?;
    }
    if let Some(begun) = begun.filter(|_| !has_conflicts) {
        tables.complete_index(schema, info, &begun).await?;
        filled.ready = true;
    }
    Ok(filled)
}

/// Returns the entities of a page. The writer of a pending one knows the index and writes its row.
fn committed(schema: Schema, page: &ScannedPage) -> Result<Vec<FoundEntity>> {
    let mut found = Vec::with_capacity(page.rows.len());
    for row in page.rows.iter().map(RowRef::to_row) {
        found.extend(schema.read(row)?.filter(|found| found.pending.is_none()));
    }
    Ok(found)
}

/// Deletes the rows of an index with copies that no entity has: a program without the index has changed or deleted the
/// entities. Readers of copies would return what these rows hold.
async fn remove_stale(write: &Write, layout: usize, memory: usize) -> Result<()> {
    let backend = write.tables.backend().clone();
    let mut comparison = IndexComparison::new(backend, write.schema, "backfill", memory).of_index(layout);
    while let Some(mut page) = comparison.next(write).await? {
        // Pending inserts are those of writers that know the index.
        page.suspects.retain(|suspect| matches!(suspect, Suspect::IndexRow(_)));
        for LocatedFinding { layout, entity, row, .. } in write.findings(page).await? {
            if let Some((keys, etag)) = row {
                write.remove_stale(&entity, &WrittenRow { layout, keys, etag }).await?;
            }
        }
        pacing::yield_now().await;
    }
    Ok(())
}

impl fmt::Debug for Backfill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cursor = self.resumed.as_ref().and_then(seal);
        f.debug_struct("Backfill").field("cursor", &cursor).field("dry_run", &self.dry_run).finish_non_exhaustive()
    }
}

impl Tables {
    /// Builds an index that was added to an entity whose table already has rows. Afterwards queries may use the index.
    ///
    /// Every program that writes the entity must know the index before the backfill begins, and may continue to write
    /// during it. If a program without the index calls `create` meanwhile, the backfill ends with
    /// [`Error::IndexBuilding`] and has to run again, from the beginning. The backfill writes the rows that are missing
    /// or wrong in bulk, and gives each of their entities a new version, on the condition that the entity still has the
    /// version that was read; if the entity has changed, the backfill reads it again. A backfill can be stopped and
    /// continued from its [cursor](Backfill::from), and it can be run again; to drop its future stops it. Await it.
    ///
    /// From its beginning, each program without the index whose handle has called `create` is refused with
    /// [`Error::IndexMissing`] when it writes, as soon as it renews its [lease](Tables::with_lease) of the entity: after a
    /// minute at the latest. What it writes before that may have no row in the index, so end such programs first.
    ///
    /// # Requests and memory
    /// It reads the rows that the index has, and then the entities, in pages of up to 1000. An entity whose row is
    /// there and right costs no read. If that row is a pointer in another partition, it gets a new version, in
    /// transactions of up to 100 rows of one partition, so that no writer that began before deletes it.
    ///
    /// The rows of a page that are missing or wrong are written in bulk. On the service, the rows of one partition share
    /// transactions of up to 100 operations, and so do the new versions of the entities. On the embedded store, an entity
    /// and its rows in other partitions are written in one transaction, up to 100 entities at a time.
    ///
    /// If an index with copies or included properties has rows that no entity was found to have, or if the backfill continues
    /// an earlier one, it compares all rows with the entities once more, and deletes those that no entity has. Such rows of
    /// other indexes lead to no entity; a [repair](Tables::repair) deletes them.
    ///
    /// The hashes of the index's rows take 16 bytes each, up to a bound of 64 MiB. If the index has more than 4.2
    /// million rows, or with less [`memory`](Backfill::memory), it takes several passes, each of which reads all rows.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// let missing = tables.backfill::<Post>("title").dry_run().await?.written;
    /// println!("{missing} to write");
    /// let filled = tables.backfill::<Post>("title").progress(|progress| println!("{}", progress.entities)).await?;
    /// assert_eq!(filled.conflicts, []);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Query`] if there is no index of this name, the errors of the store, errors for rows that do not
    /// fit the struct, and [`Error::LayoutChanged`], [`Error::IndexMissing`] and the errors of a migration if the struct
    /// must not write the entity any more. An entity that cannot be written ends the backfill; what was written stays.
    pub fn backfill<'a, E: TableEntity>(&self, index: &str) -> Backfill<'a> {
        let schema = Schema::of::<E>();
        let layout = (1..schema.layouts.len()).find(|layout| schema.layouts[*layout].name == index);
        let layout = layout.ok_or_else(|| {
            let names: Vec<_> = schema.layouts.iter().skip(1).map(|layout| format!("`{}`", layout.name)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let problem = format!("there is no index `{index}`; there is {known}");
            Error::from(Box::new(QueryError::new(schema.table().to_owned(), "key", problem)))
        });
        let job = format!("backfill {index}");
        let (tables, memory, on_progress) = (self.clone(), MEMORY, None);
        Backfill { tables, schema, layout, job, memory, resumed: None, dry_run: false, on_progress }
    }
}
