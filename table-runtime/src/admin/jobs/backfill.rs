//! Backfill: building an index that was added to an entity with rows.

use std::{ops::ControlFlow, sync::Arc};

use table_model::{Holds, TableEntity, unstable::layout::LayoutExt};
use table_store::{Error, Result, RowRef, backend::BoxFuture, error::ParseCursorError, unstable::observe::Running};

use super::{
    compare::{RowComparison, Suspect},
    described::Typed,
    examine::{LocatedFinding, examine},
    finding::Finding,
    hashes::Hashes,
    job::{Comparing, Job, JobKind, JobOptions, Progress, Rehearsable, Resumable},
    position::{JobPosition, hash_job},
    present::PresentRows,
    reindex::reindex,
};
use crate::{
    admin::scan::{RowRange, ScannedPage, SideBySide, sections},
    client::tables::Tables,
    write::{
        RowHasher,
        index::{FoundEntity, Schema, Write, WrittenRow},
    },
};

/// A backfill: see [`Tables::backfill`].
#[derive(Debug)]
pub struct Backfill {
    tables: Tables,
    schema: Schema,
    index: String,
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
    /// `true` if queries may use the index from now on. A backfill that [continues](Job::resume_from) an earlier one also
    /// counts the conflicts before its cursor, but does not list them again.
    pub ready: bool,
}

impl Resumable for Backfill {
    fn hash(&self) -> u64 {
        hash_job(&format!("backfill {}", self.index), self.schema.layouts)
    }
}

impl Comparing for Backfill {}
impl Rehearsable for Backfill {}

impl JobKind for Backfill {
    type Done = Backfilled;
    type Error = Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.tables.begin_operation(|| self.schema.operation("backfill"))
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<Backfilled> {
        let backfill = self;
        let (job, layout) = (backfill.hash(), backfill.layout()?);
        let Backfill { tables, schema, .. } = backfill;
        let (info, dry_run, memory) = (&schema.layouts[layout], options.dry_run, options.memory);
        let write = Arc::new(Write::new(tables.clone(), schema)?);
        let of = Typed::new(Arc::clone(&write), Some(layout));
        let begun = if dry_run { None } else { Some(tables.begin_index(schema, info).await?) };
        let version = begun.as_ref().map(ToString::to_string);
        let resumed = options.begin()?;
        if resumed.as_ref().is_some_and(|resumed| resumed.version != version) {
            return Err(ParseCursorError::OtherQuery.into());
        }
        // The rows of entities before a cursor are not compared with them.
        let mut has_stale = resumed.is_some();
        let mut at = resumed.unwrap_or_else(|| {
            let all = JobPosition::of(job, options.asked(), Vec::new());
            JobPosition { version, ..all }
        });
        let mut left: Option<Vec<RowRange>> = has_stale.then(|| std::mem::take(&mut at.left));
        let (mut filled, mut progress) = (Backfilled::default(), Progress::default());
        let pages = options.pages(tables.backend());
        loop {
            let hashes = Hashes::new(at.hashes, memory);
            let present = PresentRows::read(&of, layout, hashes, left.as_deref(), (dry_run, pages)).await?;
            let sections = sections(tables.backend(), schema.layouts, [0]).await?;
            let mut scan = SideBySide::new(tables.backend().clone(), sections, pages);
            if let Some(left) = &left {
                scan = scan.within(left);
            }
            let (tables, write, present) = (&tables, &*write, &present);
            let work = |page: ScannedPage| -> BoxFuture<'_, _> {
                Box::pin(async move {
                    let mut found = committed(schema, &page)?;
                    let entities = found.len();
                    let mut row_hasher = RowHasher::default();
                    found.retain(|found| present.lacks(write, &mut row_hasher, found));
                    if dry_run {
                        return Ok((entities, found.len(), Vec::new()));
                    }
                    if info.is_same_partition() && schema.holds(layout) != Holds::List {
                        // No transaction could delete an entity with more rows.
                        found.iter().try_for_each(|found| found.encoded.check_elements(&schema))?;
                    }
                    let (written, conflicts) = reindex(tables, schema, layout, found, false).await?;
                    Ok((entities, written, conflicts))
                })
            };
            let done = |scan: &SideBySide, (entities, written, conflicts): (usize, usize, Vec<Finding>)| {
                // Each pass reads all entities.
                filled.entities += if at.pass == 1 { entities } else { 0 };
                filled.written += written;
                at.has_conflicts |= !conflicts.is_empty();
                filled.conflicts.extend(conflicts);
                progress.entities = filled.entities;
                progress.findings = filled.written + filled.conflicts.len();
                progress.fixed = if dry_run { 0 } else { filled.written };
                (progress.pass, progress.passes) = (at.pass, at.pass + present.passes_left());
                progress.rows_left = scan.rows_left();
                options.report(|| {
                    let position = JobPosition { hashes: present.range(), left: scan.left(), ..at.clone() };
                    Progress { cursor: position.text(), ..progress.clone() }
                });
                ControlFlow::Continue(())
            };
            scan.each(&work, done).await?;
            has_stale |= present.has_stale();
            match present.next_range() {
                Some(next) => (at.pass, at.hashes, left) = (at.pass + 1, next, None),
                None => break,
            }
        }
        // Other rows are read together with their entities, and a repair deletes them.
        if has_stale && !dry_run && matches!(schema.holds(layout), Holds::Copy | Holds::Include) {
            remove_stale(&of, (memory, pages)).await?;
        }
        if let Some(begun) = begun.filter(|_| !at.has_conflicts) {
            tables.complete_index(schema, info, &begun).await?;
            filled.ready = true;
        }
        Ok(filled)
    }
}

impl Backfill {
    /// Returns the index.
    fn layout(&self) -> Result<usize> {
        let Self { schema, index, .. } = self;
        let layout = (1..schema.layouts.len()).find(|layout| schema.layouts[*layout].name == *index);
        layout.ok_or_else(|| {
            let names: Vec<_> = schema.layouts.iter().skip(1).map(|layout| format!("`{}`", layout.name)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            schema.refused(format!("there is no index `{index}`; there is {known}"))
        })
    }
}

/// Returns the entities of a page. The writer of a pending one knows the index and writes its row.
fn committed(schema: Schema, page: &ScannedPage) -> Result<Vec<FoundEntity>> {
    let mut found = Vec::new();
    for row in page.rows().map(RowRef::to_row) {
        found.extend(schema.read(row)?.filter(|found| found.pending.is_none()));
    }
    Ok(found)
}

/// Deletes the rows of an index with copies that no entity has: a program without the index has changed or deleted the
/// entities. Readers of copies would return what these rows hold.
async fn remove_stale(of: &Typed, (memory, pages): (usize, usize)) -> Result<()> {
    let work = |table: String, mut suspects: Vec<Suspect>| -> BoxFuture<'_, _> {
        Box::pin(async move {
            // Pending inserts are those of writers that know the index.
            suspects.retain(|suspect| matches!(suspect, Suspect::IndexRow { .. }));
            for LocatedFinding { layout, entity, row, .. } in examine(of, &table, suspects).await? {
                if let Some((keys, etag)) = row {
                    of.write.remove_stale(&entity, &WrittenRow { layout, keys, etag }).await?;
                }
            }
            Ok(())
        })
    };
    RowComparison::new(of, memory, pages).run(&work, |_, ()| ()).await
}

impl Tables {
    /// Builds an index that was added to an entity whose table already has rows. Afterwards queries may use the index.
    ///
    /// Every program that writes the entity must know the index before the backfill begins, and may continue to write
    /// during it. If a program without the index calls `create` meanwhile, the backfill ends with
    /// [`Error::IndexBuilding`] and has to run again, from the beginning. The backfill writes the rows that are missing
    /// or wrong in bulk, and gives each of their entities a new version, on the condition that the entity still has the
    /// version that was read; if the entity has changed, the backfill reads it again. A backfill can be stopped and
    /// continued from its [cursor](Job::resume_from), and it can be run again; to drop its future stops it. Await it.
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
    /// million rows, or with less [`memory`](Job::memory), it takes several passes, each of which reads all rows.
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
    pub fn backfill<'a, E: TableEntity>(&self, index: &str) -> Job<'a, Backfill> {
        Job::new(Backfill { tables: self.clone(), schema: Schema::of::<E>(), index: index.to_owned() })
    }
}
