//! Sending: a transaction, without those of its entities that fail.

use std::{mem, sync::Arc};

use crate::{
    BulkFailure, Error, RowId,
    index::EntityWriter,
    pacing,
    row::RowKeys,
    transaction::{EntityWrite, Verb, read, send},
};

/// How often a transaction is sent again whose answer was lost.
const MAX_ATTEMPTS: usize = 5;

/// A write and its place in the input.
pub(super) struct PositionedWrite {
    pub(super) position: usize,
    pub(super) write: EntityWrite<'static>,
}

/// What became of a transaction.
pub(super) struct BatchOutcome {
    pub(super) rows: Vec<RowKeys>,
    pub(super) written: Vec<usize>,
    /// What was to be removed and was not there.
    pub(super) missing: Vec<usize>,
    pub(super) failed: Vec<BulkFailure>,
    pub(super) fatal: bool,
}

impl BatchOutcome {
    fn of(writes: &[PositionedWrite]) -> Self {
        let rows = writes.iter().map(|placed| placed.write.keys.clone()).collect();
        Self { rows, written: Vec::new(), missing: Vec::new(), failed: Vec::new(), fatal: false }
    }
}

impl PositionedWrite {
    fn failed(&self, error: &Arc<Error>) -> BulkFailure {
        BulkFailure { position: self.position, row: self.write.row_id().ok(), error: error.clone() }
    }

    /// It was to be inserted, and its row is there.
    fn exists(&self) -> BulkFailure {
        let error = self.write.row_id().map_or_else(|error| error, |row| Error::AlreadyExists(Box::new(row)));
        self.failed(&Arc::new(error))
    }
}

/// Writes entities that have rows in other partitions too.
pub(super) async fn write_alone(writes: Vec<PositionedWrite>) -> BatchOutcome {
    let mut outcome = BatchOutcome::of(&writes);
    for placed in writes {
        let writer = EntityWriter(&placed.write.write);
        let written = match &placed.write.verb {
            Verb::Insert(new) => writer.insert(new).await.map(|_| true),
            Verb::Upsert(new) => writer.upsert(new).await.map(|_| true),
            _ => writer.remove(&placed.write.keys).await,
        };
        match written {
            Ok(true) => outcome.written.push(placed.position),
            Ok(false) => outcome.missing.push(placed.position),
            Err(error) => {
                outcome.fatal |= !is_of_entity(&error);
                outcome.failed.push(placed.failed(&Arc::new(error)));
            }
        }
    }
    outcome
}

/// Writes a transaction, without those of its entities that fail.
pub(super) async fn write_batch(writes: Vec<PositionedWrite>) -> BatchOutcome {
    let mut outcome = BatchOutcome::of(&writes);
    // What is too much for one transaction is written by halves.
    let mut parts = vec![writes];
    // Entities that want a value of another one of the batch wait until it is known whether that one is written.
    let mut later: Vec<PositionedWrite> = Vec::new();
    let (mut lost, mut delays) = (0, pacing::delays());
    while let Some(part) = parts.pop().or_else(|| Some(mem::take(&mut later)).filter(|later| !later.is_empty())) {
        let (positions, mut writes): (Vec<_>, Vec<_>) =
            part.into_iter().map(|placed| (placed.position, placed.write)).unzip();
        if writes.is_empty() {
            continue;
        }
        let (error, sent) = match read(&writes).await {
            Ok(read) => match send(&writes, &read).await {
                Ok(_) => {
                    outcome.written.extend(positions);
                    continue;
                }
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        let mut part: Vec<_> = positions
            .into_iter()
            .zip(writes.drain(..))
            .map(|(position, write)| PositionedWrite { position, write })
            .collect();
        match failed_write(&part, &error) {
            // What was read for it has changed since.
            Some((at, true)) if sent => match part[at].write.write.pause(&mut delays, error).await {
                Ok(()) => parts.push(part),
                Err(error) => {
                    outcome.failed.push(part.remove(at).failed(&Arc::new(error)));
                    parts.push(part);
                }
            },
            // Where one is missing, more may be; and where one is in the way.
            Some((at, _)) if is_missing(&part[at], &error) => {
                let (missing, rest) = partition_existing(part, at, false).await;
                outcome.missing.extend(missing.iter().map(|placed| placed.position));
                parts.push(rest);
            }
            Some((at, _)) if is_in_the_way(&part[at], &error) => {
                let (there, rest) = partition_existing(part, at, true).await;
                outcome.failed.extend(there.iter().map(PositionedWrite::exists));
                parts.push(rest);
            }
            Some((at, _)) if wants_value_of_another(&part, &error) => {
                later.push(part.remove(at));
                parts.push(part);
            }
            Some((at, _)) => {
                outcome.failed.push(part.remove(at).failed(&Arc::new(error)));
                parts.push(part);
            }
            // To write it twice does no harm.
            None if matches!(error, Error::OutcomeUnknown(_)) && lost < MAX_ATTEMPTS && !has_inserts(&part) => {
                lost += 1;
                parts.push(part);
            }
            None if matches!(error, Error::Limit(_)) && part.len() > 1 => {
                let half = part.split_off(part.len() / 2);
                parts.extend([half, part]);
            }
            None => {
                outcome.fatal |= !is_of_entity(&error);
                let error = Arc::new(error);
                outcome.failed.extend(part.iter().map(|placed| placed.failed(&error)));
                if outcome.fatal {
                    outcome.failed.extend(parts.iter().flatten().chain(&later).map(|placed| placed.failed(&error)));
                    break;
                }
            }
        }
    }
    outcome
}

/// Checks whether the value that an entity wants belongs to another entity of the same transaction.
fn wants_value_of_another(part: &[PositionedWrite], error: &Error) -> bool {
    let Error::UniqueViolation(violation) = error else { return false };
    let is_owner = |placed: &PositionedWrite| placed.write.keys.row_key == violation.owner.row_key;
    violation.owner != violation.entity && part.iter().any(is_owner)
}

/// Whether it was to be removed, and is not there.
fn is_missing(placed: &PositionedWrite, error: &Error) -> bool {
    matches!((&placed.write.verb, error), (Verb::Remove, Error::NotFound(_)))
}

/// Whether it was to be inserted, and its row is there.
fn is_in_the_way(placed: &PositionedWrite, error: &Error) -> bool {
    matches!((&placed.write.verb, error), (Verb::Insert(_), Error::AlreadyExists(_)))
}

/// Parts those whose rows stand in the table, or do not, from the others. Of the one at `known` that is known; what
/// cannot be looked at is left to the transaction, which tells why.
async fn partition_existing(
    part: Vec<PositionedWrite>,
    known: usize,
    exists: bool,
) -> (Vec<PositionedWrite>, Vec<PositionedWrite>) {
    let looks = match part.first() {
        Some(first) if part.len() > 1 => {
            let keys: Vec<_> = part.iter().map(|placed| &placed.write.keys).collect();
            first.write.write.existing(&keys).await.unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let (mut parted, mut rest) = (Vec::new(), Vec::new());
    for (at, placed) in part.into_iter().enumerate() {
        let is_so = at == known || looks.get(at) == Some(&exists);
        if is_so { parted.push(placed) } else { rest.push(placed) }
    }
    (parted, rest)
}

fn has_inserts(part: &[PositionedWrite]) -> bool {
    part.iter().any(|placed| matches!(placed.write.verb, Verb::Insert(_)))
}

/// The write that a transaction failed at, and whether it can be tried again as it is.
fn failed_write(part: &[PositionedWrite], error: &Error) -> Option<(usize, bool)> {
    let by_row_key = |row: &RowId| part.iter().position(|placed| placed.write.keys.row_key == row.row_key);
    match error {
        Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row) => {
            let at = by_row_key(row)?;
            let write = &part[at].write;
            let read = write.indexed && !matches!(write.verb, Verb::Insert(_));
            let gone = matches!((&write.verb, error), (Verb::Remove, Error::NotFound(_)));
            Some((at, read && !gone))
        }
        Error::UniqueViolation(violation) => Some((by_row_key(&violation.entity)?, false)),
        Error::Limit(limit) => Some((by_row_key(limit.row.as_ref()?)?, false)),
        _ => None,
    }
}

/// Whether an error is about the entities that were written, and not about the store.
fn is_of_entity(error: &Error) -> bool {
    matches!(
        error,
        Error::Key(_)
            | Error::Property(_)
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
