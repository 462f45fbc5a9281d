//! Copying of entities to the new place, and catching up with what has changed meanwhile.

use std::{collections::HashSet, ops::ControlFlow};

use futures_util::stream;
use table_model::unstable::entity;
use table_store::{
    Error, Result, RowId, RowRef,
    backend::BoxFuture,
    error::{BulkError, BulkFailure},
    unstable::RowKeys,
};

use super::{Migrated, Migration, compare::Moved, switch::Switch};
use crate::{
    admin::{
        jobs::{Compared, JobOptions, JobPosition, Progress, RowComparison, Suspect},
        scan::{ScannedPage, SideBySide, sections},
    },
    write::index::{Encoded, EntityWrite, Verb},
};

/// The writer of the new place.
pub(super) struct Copier<'a> {
    pub(super) switch: &'a Switch<'a>,
    progress: Progress,
}

/// Differences that a comparison found.
pub(super) struct CaughtUp {
    /// Number of the entities that were missing, different or superfluous.
    pub(super) differences: usize,
    /// The error of writes that were refused because of a unique value, or because of the key. While writers write, the
    /// entity that has the value may have changed after it was read.
    pub(super) refused: Option<Error>,
    /// True if the new place has pending inserts, of a run that was stopped.
    pub(super) has_pending: bool,
}

impl<'a> Copier<'a> {
    pub(super) fn new(switch: &'a Switch<'a>) -> Self {
        Self { switch, progress: Progress::default() }
    }

    /// Copies the entities that are not in the new place: those after the position at which the job continues.
    pub(super) async fn copy(&mut self, options: &mut JobOptions<'_, Progress>, job: u64) -> Result<()> {
        let Migration { tables, old, .. } = self.switch.migration;
        let client = tables.backend();
        let sections = sections(client, old.layouts, [0]).await?;
        let mut scan = options.scan(client, sections);
        if let Some(position) = options.begin()? {
            scan = scan.within(&position.left);
        }
        let own = &*self;
        let (mut progress, asked) = (self.progress.clone(), options.asked());
        let work = |page: ScannedPage| -> BoxFuture<'_, _> {
            Box::pin(async move {
                own.switch.confirm().await?;
                let mut items = Vec::new();
                for row in page.rows() {
                    let converted = own.convert(&page.table, row)?;
                    items.extend(converted.map(|converted| EntityWrite::put_encoded(Verb::Insert, converted)));
                }
                // Entities that are already there are left to the comparison.
                Ok((items.len(), own.write(items).await?.written))
            })
        };
        let done = |scan: &SideBySide, (entities, written): (usize, usize)| {
            progress.entities += entities;
            progress.fixed += written;
            progress.rows_left = scan.rows_left();
            options.report(|| {
                let cursor = JobPosition::of(job, asked.clone(), scan.left()).text();
                Progress { cursor, ..progress.clone() }
            });
            ControlFlow::Continue(())
        };
        scan.each(&work, done).await?;
        self.progress = progress;
        Ok(())
    }

    /// Compares both places. Removes the entities of the new place that differ, and then inserts those that are missing:
    /// so entities can have swapped unique values.
    pub(super) async fn catch_up(
        &mut self,
        migrated: &mut Migrated,
        options: &mut JobOptions<'_, Progress>,
    ) -> Result<CaughtUp> {
        let own = &*self;
        let moved = Moved::new(own);
        let work = |_: String, suspects: Vec<Suspect>| -> BoxFuture<'_, _> {
            Box::pin(async move {
                let (mut removed, mut missing, mut writes) = (Vec::new(), Vec::new(), Vec::new());
                for suspect in suspects {
                    match suspect {
                        Suspect::IndexRow { row, .. } => {
                            let keys = row.as_ref().keys();
                            removed.push(keys.clone());
                            writes.push(EntityWrite::remove(keys));
                        }
                        Suspect::Entity { found, .. } => {
                            missing.push(found.encoded.primary.keys.clone());
                            writes.push(EntityWrite::put_encoded(Verb::Insert, found.encoded));
                        }
                        Suspect::Foreign { problem, .. } => return Err(problem),
                        Suspect::Pending { .. } | Suspect::List { .. } => {}
                    }
                }
                if writes.is_empty() {
                    return Ok((removed, missing, MovedEntities::default()));
                }
                own.switch.confirm().await?;
                let written = own.write(writes).await?;
                Ok((removed, missing, written))
            })
        };
        // The keys of rows that were removed, until their entities turn out to be missing.
        let (mut superfluous, mut differences) = (HashSet::new(), 0);
        let (mut entities, mut caught_up, mut refused, mut twin) = (0, 0, None, None);
        let mut comparison =
            RowComparison::new(&moved, options.memory, options.pages(self.switch.migration.tables.backend()));
        let done = |compared: Compared, (removed, missing, written): (Vec<RowKeys>, Vec<RowKeys>, MovedEntities)| {
            entities += compared.entities;
            superfluous.extend(removed);
            differences += missing.len();
            for keys in &missing {
                superfluous.remove(keys);
            }
            // Removals are not counted as written again.
            caught_up += if missing.is_empty() { 0 } else { written.written };
            refused = refused.take().or(written.refused);
            twin = twin.take().or(written.existing);
        };
        comparison.run(&work, done).await?;
        // While writers write, one of the two may have been replaced by the other.
        let refused = refused.map(Error::from).or_else(|| twin.map(|existing| self.twins(&existing)));
        migrated.removed += superfluous.len();
        migrated.caught_up += caught_up;
        migrated.entities = entities;
        let (differences, has_pending) = (differences + superfluous.len(), moved.has_pending());
        self.progress.findings = differences;
        options.report(|| self.progress.clone());
        Ok(CaughtUp { differences, refused, has_pending })
    }

    /// Returns the error of two entities that are converted to one key: one of them was missing, and could not be inserted.
    fn twins(&self, RowId { partition_key, row_key, .. }: &RowId) -> Error {
        let problem = format!(
            "two old entities get the new key (PartitionKey='{partition_key}',RowKey='{row_key}'); convert them to \
             entities with different keys"
        );
        self.switch.migration.new.refused(problem)
    }

    /// Deletes what runs that were stopped have left: pending inserts, and index rows without their entities.
    pub(super) async fn repair(&self) -> Result<()> {
        self.switch.confirm().await?;
        self.switch.writer.repair_schema(self.switch.migration.new).await.map(drop)
    }

    /// Converts the entity in a row of the old place; `None` if there is no committed one.
    pub(super) fn convert(&self, table: &str, row: RowRef<'_>) -> Result<Option<Encoded>> {
        // The writer of a pending insert has not committed it.
        if !self.switch.old_rows.has(row) || entity::is_pending(table, row)? {
            return Ok(None);
        }
        (self.switch.migration.convert)(table, row).map(Some)
    }

    /// Writes to the new place.
    async fn write(&self, items: Vec<EntityWrite>) -> Result<MovedEntities> {
        let items = stream::iter(items.into_iter().map(Ok));
        let mut error = match self.switch.writer.write_all(self.switch.migration.new, "migrate", items).await {
            Ok(done) => return Ok(MovedEntities { written: done.written, ..MovedEntities::default() }),
            Err(Error::Bulk(error)) => error,
            Err(error) => return Err(error),
        };
        let mut existing = None;
        error.failures.retain(|failure| match &*failure.error {
            Error::AlreadyExists(row) => {
                existing.get_or_insert_with(|| RowId::clone(row));
                false
            }
            _ => true,
        });
        let is_refused = |failure: &BulkFailure| matches!(*failure.error, Error::UniqueViolation(_));
        let written = error.progress.written;
        if error.ended_early || !error.failures.iter().all(is_refused) {
            return Err(error.into());
        }
        let refused = Some(error).filter(|error| !error.failures.is_empty());
        Ok(MovedEntities { written, refused, existing })
    }
}

/// What was written to the new place.
#[derive(Default)]
struct MovedEntities {
    /// Number of entities that were written.
    written: usize,
    /// The failures because of unique values.
    refused: Option<Box<BulkError>>,
    /// The first entity that was already there.
    existing: Option<RowId>,
}
