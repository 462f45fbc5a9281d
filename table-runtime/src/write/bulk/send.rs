//! Sending of transactions without the entities that fail.

use std::{collections::HashSet, mem, sync::Arc, time::Instant};

use futures_util::{StreamExt, future::join_all, stream};
use table_model::unstable::lifecycle::Standing;
use table_store::{
    Error, Result, RowId,
    backend::BoxFuture,
    error::{BulkFailure, OutcomeUnknownError, Refused, RowNow},
    unstable::RowKeys,
};

use crate::{
    client::pacing,
    write::index::{BegunWrite, Caller, EntityState, WriteFailure, attempt, execute_one},
};

/// A write and its position in the input.
struct PositionedWrite {
    position: usize,
    write: BegunWrite,
    /// What a look at the row in the way of an insert has shown.
    in_the_way: Option<Result<Standing>>,
}

/// The writes of a transaction, and their positions in the input.
#[derive(Default)]
pub(super) struct Writes {
    pub(super) positions: Vec<usize>,
    pub(super) writes: Vec<BegunWrite>,
}

impl Writes {
    pub(super) fn push(&mut self, position: usize, write: BegunWrite) {
        self.positions.push(position);
        self.writes.push(write);
    }

    fn entries(self) -> impl Iterator<Item = PositionedWrite> {
        let entries = self.positions.into_iter().zip(self.writes);
        entries.map(|(position, write)| PositionedWrite { position, write, in_the_way: None })
    }
}

impl FromIterator<PositionedWrite> for Writes {
    fn from_iter<I: IntoIterator<Item = PositionedWrite>>(entries: I) -> Self {
        let (positions, writes) = entries.into_iter().map(|entry| (entry.position, entry.write)).unzip();
        Self { positions, writes }
    }
}

/// The outcome of a transaction. Each entity is in one of the three lists.
#[derive(Default)]
pub(super) struct BatchOutcome {
    pub(super) written: Vec<usize>,
    /// Positions of the removals whose row was missing.
    pub(super) missing: Vec<usize>,
    pub(super) failed: Vec<BulkFailure>,
    pub(super) fatal: bool,
}

impl PositionedWrite {
    fn failed(&self, error: &Arc<Error>) -> BulkFailure {
        BulkFailure::new(self.position, self.write.row_id().ok(), error.clone())
    }

    /// Returns the failure of an insert whose row already exists.
    fn exists(self) -> BulkFailure {
        let Self { position, write, in_the_way } = self;
        let row = write.row_id();
        let exists = |in_bin| match write.row_id() {
            Ok(row) => Error::AlreadyExists(Refused::from(row).in_bin(in_bin)),
            Err(error) => error,
        };
        let error = match in_the_way {
            // The row may be a pending insert, or one that has expired.
            Some(Err(error)) => error,
            standing => exists(matches!(standing, Some(Ok(Standing::InBin)))),
        };
        BulkFailure::new(position, row.ok(), Arc::new(error))
    }
}

/// Writes entities with rows that are written in steps of their own, all at the same time.
pub(super) async fn write_in_steps(writes: Writes) -> BatchOutcome {
    let mut outcome = BatchOutcome::default();
    let rows: HashSet<_> = writes.writes.iter().map(|write| write.entity.keys().clone()).collect();
    let is_of_batch = |RowId { partition_key, row_key, .. }: &RowId| {
        rows.contains(&RowKeys { partition_key: partition_key.clone(), row_key: row_key.clone() })
    };
    let mut waiting: Vec<_> = writes.entries().collect();
    while !waiting.is_empty() {
        let written = join_all(waiting.iter_mut().map(write_alone)).await;
        let mut failed = Vec::new();
        let tried = waiting.len();
        for (entry, written) in waiting.into_iter().zip(written) {
            match written {
                Ok(true) => outcome.written.push(entry.position),
                Ok(false) => outcome.missing.push(entry.position),
                Err(error) => failed.push((entry, error)),
            }
        }
        // An entity that needs a unique value of another entity is tried again after that one was written.
        let may_succeed = failed.len() < tried;
        waiting = Vec::new();
        for (mut entry, mut error) in failed {
            // A reindex passes no value on.
            let is_passed = |owner| !entry.write.entity.verb.fences() && is_of_batch(owner);
            if may_succeed && matches!(&error, Error::UniqueViolation(violation) if is_passed(&violation.owner)) {
                // Another writer may have read a claim that was left, so no later write takes it for its own.
                match entry.write.renew() {
                    Ok(()) => {
                        waiting.push(entry);
                        continue;
                    }
                    Err(refused) => error = refused,
                }
            }
            outcome.fatal |= !is_of_entity(&error);
            outcome.failed.push(entry.failed(&Arc::new(error)));
        }
    }
    outcome
}

/// Writes an entity. Returns false if there was none to delete.
async fn write_alone(entry: &mut PositionedWrite) -> Result<bool> {
    match execute_one(&mut entry.write).await.map_err(|failure| failure.error) {
        Ok(_) => Ok(true),
        Err(error) if is_missing(entry, &error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A transaction that is written without the entities that fail.
struct Batch {
    outcome: BatchOutcome,
    /// The transactions that are left. One that is too large is divided into halves.
    parts: Vec<Writes>,
    /// Entities that need a unique value of another entity of the batch. They wait until that one is written or has
    /// failed.
    later: Vec<PositionedWrite>,
    delays: pacing::Delays,
}

/// Writes a transaction without the entities that fail.
pub(super) async fn write_batch(writes: Writes) -> BatchOutcome {
    let outcome = BatchOutcome::default();
    let mut batch = Batch { outcome, parts: vec![writes], later: Vec::new(), delays: pacing::delays() };
    while let Some(part) = batch.next_part() {
        let Err(WriteFailure { error, lost_race, .. }) = attempt(&part.writes, Caller::Bulk).await else {
            batch.outcome.written.extend(part.positions);
            continue;
        };
        let part: Vec<_> = part.entries().collect();
        // A look at the row in the way of an insert is a look at those of the others too.
        let lost_race: Vec<_> = lost_race.into_iter().filter(|at| !is_in_the_way(&part[*at], &error)).collect();
        if !lost_race.is_empty() {
            batch.begin_anew(part, lost_race, error).await;
        } else if let Some(at) = failed_write(&part, &error) {
            batch.fail_at(part, at, error).await;
        } else {
            batch.fail(part, error).await;
        }
    }
    batch.outcome
}

impl Batch {
    fn next_part(&mut self) -> Option<Writes> {
        self.parts.retain(|part| !part.writes.is_empty());
        let later = |later: Vec<_>| Some(later.into_iter().collect()).filter(|later: &Writes| !later.writes.is_empty());
        self.parts.pop().or_else(|| later(mem::take(&mut self.later)))
    }

    /// Adds a transaction that is left.
    fn add(&mut self, part: Vec<PositionedWrite>) {
        self.parts.push(part.into_iter().collect());
    }

    /// Handles a transaction in which these writes lost a race. A write that gives up the version which its caller has read
    /// does not wait: that happens once.
    async fn begin_anew(&mut self, mut part: Vec<PositionedWrite>, lost_race: Vec<usize>, error: Error) {
        let first = &part[lost_race[0]].write;
        let waited = if first.entity.version().is_some() || first.goes_on() {
            Ok(())
        } else {
            first.write.pause(&mut self.delays, error).await
        };
        let fences = first.entity.verb.fences();
        let begun = waited.and_then(|()| lost_race.iter().try_for_each(|at| part[*at].write.begin_anew()));
        let lost = lost_race.into_iter().rev();
        if let Err(error) = begun.map_err(Arc::new) {
            self.outcome.failed.extend(lost.map(|at| part.remove(at).failed(&error)));
        } else if fences {
            // Each attempt reads again those that have lost a race, so they are tried together, after the others.
            self.later.extend(lost.map(|at| part.remove(at)));
        }
        self.add(part);
    }

    /// Handles a transaction that failed at this write.
    async fn fail_at(&mut self, mut part: Vec<PositionedWrite>, at: usize, error: Error) {
        // If one row is missing, others may be missing too. The same holds for rows that already exist.
        if is_missing(&part[at], &error) {
            let (missing, rest) = partition_existing(part, at).await;
            self.outcome.missing.extend(missing.iter().map(|entry| entry.position));
            return self.add(rest);
        }
        if is_in_the_way(&part[at], &error) {
            let known = part[at].position;
            let (mut existing, mut rest) = partition_existing(part, at).await;
            let goes_on = rest.iter().any(|entry| entry.position == known && entry.write.entity.looks());
            if existing.is_empty() && !goes_on && !self.delays.wait(rest[0].write.write.backend()).await {
                existing.extend(rest.extract_if(.., |entry| entry.position == known));
            }
            self.outcome.failed.extend(existing.into_iter().map(PositionedWrite::exists));
            return self.add(rest);
        }
        let entry = part.remove(at);
        if wants_value_of_another(&part, &error) {
            self.later.push(entry);
        } else {
            self.outcome.failed.push(entry.failed(&Arc::new(error)));
        }
        self.add(part);
    }

    /// Handles a transaction that failed as a whole.
    async fn fail(&mut self, mut part: Vec<PositionedWrite>, error: Error) {
        match error {
            Error::OutcomeUnknown(error) => self.outcome.failed.extend(lost(&part, *error).await),
            // It is too large, or one of the entities has a damaged index row.
            error if part.len() > 1 && is_of_entity(&error) => {
                let half = part.split_off(part.len() / 2);
                self.add(half);
                self.add(part);
            }
            error => {
                let is_fatal = !is_of_entity(&error);
                if is_fatal {
                    part.extend(self.parts.drain(..).flat_map(Writes::entries));
                    part.append(&mut self.later);
                }
                self.outcome.fatal |= is_fatal;
                let error = Arc::new(error);
                self.outcome.failed.extend(part.iter().map(|entry| entry.failed(&error)));
            }
        }
    }
}

/// Checks whether the value that an entity wants belongs to another entity of the same transaction.
fn wants_value_of_another(part: &[PositionedWrite], error: &Error) -> bool {
    let Error::UniqueViolation(violation) = error else { return false };
    let is_owner = |entry: &PositionedWrite| {
        let RowKeys { partition_key, row_key } = entry.write.entity.keys();
        (partition_key, row_key) == (&violation.owner.partition_key, &violation.owner.row_key)
    };
    violation.owner != violation.entity && part.iter().any(is_owner)
}

/// Checks whether the write has nothing to do, because its row is missing.
fn is_missing(entry: &PositionedWrite, error: &Error) -> bool {
    entry.write.entity.verb.needs_entity() && matches!(error, Error::NotFound(_))
}

/// Checks whether the write is an insert of a row that already exists.
fn is_in_the_way(entry: &PositionedWrite, error: &Error) -> bool {
    entry.write.entity.verb.inserts() && matches!(error, Error::AlreadyExists(_))
}

/// Separates the inserts whose rows exist, or the deletions whose rows are missing, from the others. The write at `known`
/// is known to be one of the first. If the rows cannot be read, only that write is separated.
///
/// A pending insert is no row for readers. If it is in the way of an insert, the insert makes its way.
async fn partition_existing(part: Vec<PositionedWrite>, known: usize) -> (Vec<PositionedWrite>, Vec<PositionedWrite>) {
    let is_insert = part.get(known).is_some_and(|entry| entry.write.entity.verb.inserts());
    let asked = Instant::now();
    let rows = match part.first() {
        Some(first) if part.len() > 1 || is_insert => {
            let keys: Vec<_> = part.iter().map(|entry| entry.write.entity.keys()).collect();
            first.write.write.existing(&keys).await
        }
        _ => Ok(Vec::new()),
    };
    let (rows, mut unread) = match rows {
        Ok(rows) if is_insert => {
            let ways = part.iter().zip(rows).map(|(entry, existing)| {
                let BegunWrite { write, entity } = &entry.write;
                write.make_way_of(existing, asked, entity.keys(), None)
            });
            (pacing::in_waves(ways).await, None)
        }
        Ok(rows) => (rows.into_iter().map(Ok).collect(), None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut rows = rows.into_iter();
    let (mut parted, mut rest) = (Vec::new(), Vec::new());
    for (at, mut entry) in part.into_iter().enumerate() {
        let entity = &mut entry.write.entity;
        let is_parted = match rows.next() {
            // A second look would show the same: the row is one of another kind, or cannot be read.
            Some(Ok(EntityState::Committed(Standing::Expired))) if is_insert && !(at == known && entity.looks()) => {
                entity.look();
                false
            }
            Some(Ok(EntityState::Committed(standing))) if is_insert => {
                entry.in_the_way = Some(Ok(standing));
                true
            }
            Some(Ok(existing)) => !is_insert && (!matches!(existing, EntityState::Committed(_)) || at == known),
            Some(Err(error)) if at == known => {
                entry.in_the_way = Some(Err(error));
                true
            }
            None if at == known => {
                entry.in_the_way = unread.take().map(Err);
                true
            }
            Some(Err(_)) | None => false,
        };
        if is_parted { parted.push(entry) } else { rest.push(entry) }
    }
    (parted, rest)
}

/// Returns the failures of a transaction whose answer was lost. It is not sent again: others may have written since, and
/// would be overwritten.
async fn lost(part: &[PositionedWrite], error: OutcomeUnknownError) -> Vec<BulkFailure> {
    // If the store does not answer, each read would wait for as long as the first one.
    let is_answered = !matches!(error.now, RowNow::Unread(_));
    let mut failures: Vec<BoxFuture<'_, BulkFailure>> = Vec::with_capacity(part.len());
    for entry in part {
        let error = &error;
        failures.push(Box::pin(async move {
            let BegunWrite { write, entity } = &entry.write;
            let own = write.row_id(entity.keys());
            let is_read = !is_answered || own == error.row;
            let now = if is_read { error.now.clone() } else { write.row_now(entity.keys()).await };
            let mut error = error.clone();
            (error.row, error.now) = (own, now);
            entry.failed(&Arc::new(Box::new(error).into()))
        }));
    }
    stream::iter(failures).buffered(pacing::CONCURRENCY).collect().await
}

/// Returns the position of the write at which a transaction failed.
fn failed_write(part: &[PositionedWrite], error: &Error) -> Option<usize> {
    let row: &RowId = match error {
        Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row) => row,
        Error::Damaged { row, .. } => row,
        Error::UniqueViolation(violation) => &violation.entity,
        // The stored row has another key than its fields.
        Error::Key(error) => error.row.as_ref()?,
        Error::Limit(limit) => limit.row.as_ref()?,
        // The row that was read for the write.
        Error::Version(version) => &version.row,
        Error::Property(property) => &property.row,
        Error::UnknownProperties(unknown) => &unknown.row,
        _ => return None,
    };
    part.iter().position(|entry| entry.write.entity.keys().row_key == row.row_key)
}

/// Checks whether an error concerns the entities that were written, and not the store.
pub fn is_of_entity(error: &Error) -> bool {
    matches!(
        error,
        Error::Key(_)
            | Error::Property(_)
            | Error::UnknownProperties(_)
            | Error::Version(_)
            | Error::Limit(_)
            | Error::AlreadyExists(_)
            | Error::NotFound(_)
            | Error::ConditionNotMet(_)
            | Error::UniqueViolation(_)
            | Error::Aborted(_)
            | Error::OutcomeUnknown(_)
            | Error::Damaged { .. }
    )
}
