//! Sending: a transaction, without those of its entities that fail.

use std::sync::Arc;

use super::BulkFailure;
use crate::{
    Error, Result, RowId,
    backend::BoxFuture,
    entity::RowKeys,
    index,
    transaction::{What, Write, read, send},
};

/// How often a transaction is sent again whose answer was lost.
const TRIES: usize = 5;

/// A write and its place in the input.
pub(super) struct Placed {
    pub(super) position: usize,
    pub(super) write: Write<'static>,
}

/// What became of a transaction.
pub(super) struct Flown {
    pub(super) rows: Vec<RowKeys>,
    pub(super) written: Vec<usize>,
    pub(super) failed: Vec<BulkFailure>,
    pub(super) fatal: bool,
}

impl Placed {
    fn failed(&self, error: &Arc<Error>) -> BulkFailure {
        BulkFailure { position: self.position, row: self.write.row_id().ok(), error: error.clone() }
    }
}

/// Writes entities that have rows in other partitions too.
pub(super) async fn write_alone(writes: Vec<Placed>) -> Flown {
    let rows = writes.iter().map(|placed| placed.write.keys.clone()).collect();
    let mut flown = Flown { rows, written: Vec::new(), failed: Vec::new(), fatal: false };
    for placed in writes {
        let upkeep = &placed.write.upkeep;
        let written = match &placed.write.what {
            What::Insert(new) => upkeep.insert(new).await.map(drop),
            What::Upsert(new) => upkeep.upsert(new).await.map(drop),
            _ => upkeep.remove(&placed.write.keys).await.map(drop),
        };
        match written {
            Ok(()) => flown.written.push(placed.position),
            Err(error) => {
                flown.fatal |= !is_of_entity(&error);
                flown.failed.push(placed.failed(&Arc::new(error)));
            }
        }
    }
    flown
}

/// Writes a transaction, without those of its entities that fail.
pub(super) async fn write_batch(writes: Vec<Placed>) -> Flown {
    let rows = writes.iter().map(|placed| placed.write.keys.clone()).collect();
    let mut flown = Flown { rows, written: Vec::new(), failed: Vec::new(), fatal: false };
    // What is too much for one transaction is written by halves.
    let mut parts = vec![writes];
    let (mut lost, mut delays) = (0, index::delays());
    while let Some(part) = parts.pop() {
        let (positions, mut writes): (Vec<_>, Vec<_>) =
            part.into_iter().map(|placed| (placed.position, placed.write)).unzip();
        if writes.is_empty() {
            continue;
        }
        let (error, sent) = match read(&writes).await {
            Ok(read) => match send(&writes, &read).await {
                Ok(_) => {
                    flown.written.extend(positions);
                    continue;
                }
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        let mut part: Vec<_> =
            positions.into_iter().zip(writes.drain(..)).map(|(position, write)| Placed { position, write }).collect();
        match culprit(&part, &error) {
            // What was read for it has changed since.
            Some((at, true)) if sent => match index::wait(&mut delays, error).await {
                Ok(()) => parts.push(part),
                Err(error) => {
                    flown.failed.push(part.remove(at).failed(&Arc::new(error)));
                    parts.push(part);
                }
            },
            // Where one is missing, more may be.
            Some((at, _)) if is_missing(&part[at], &error) => {
                let (there, missing) = split_missing(part, at).await;
                flown.written.extend(missing);
                parts.push(there);
            }
            Some((at, _)) => {
                flown.failed.push(part.remove(at).failed(&Arc::new(error)));
                parts.push(part);
            }
            // To write it twice does no harm.
            None if matches!(error, Error::OutcomeUnknown(_)) && lost < TRIES && !has_inserts(&part) => {
                lost += 1;
                parts.push(part);
            }
            None if matches!(error, Error::Limit(_)) && part.len() > 1 => {
                let half = part.split_off(part.len() / 2);
                parts.extend([half, part]);
            }
            None => {
                flown.fatal |= !is_of_entity(&error);
                let error = Arc::new(error);
                flown.failed.extend(part.iter().map(|placed| placed.failed(&error)));
                if flown.fatal {
                    flown.failed.extend(parts.iter().flatten().map(|placed| placed.failed(&error)));
                    break;
                }
            }
        }
    }
    flown
}

/// Whether it was to be removed, and is not there.
fn is_missing(placed: &Placed, error: &Error) -> bool {
    matches!((&placed.write.what, error), (What::Remove, Error::NotFound(_)))
}

/// Of what is to be removed, what is there, and the places of what is not; that one of them is missing is known.
async fn split_missing(part: Vec<Placed>, known: usize) -> (Vec<Placed>, Vec<usize>) {
    let mut looks: Vec<BoxFuture<'_, Result<bool>>> = Vec::with_capacity(part.len());
    for (at, placed) in part.iter().enumerate() {
        looks.push(Box::pin(async move {
            let removes = matches!(placed.write.what, What::Remove);
            // One that cannot be looked at is left to the transaction, which tells why.
            Ok(at == known || removes && matches!(placed.write.upkeep.exists(&placed.write.keys).await, Ok(false)))
        }));
    }
    let missing = index::side_by_side(looks).await.unwrap_or_default();
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for (placed, missing) in part.into_iter().zip(missing) {
        if missing { gone.push(placed.position) } else { there.push(placed) }
    }
    (there, gone)
}

fn has_inserts(part: &[Placed]) -> bool {
    part.iter().any(|placed| matches!(placed.write.what, What::Insert(_)))
}

/// The write that a transaction failed at, and whether it can be tried again as it is.
fn culprit(part: &[Placed], error: &Error) -> Option<(usize, bool)> {
    let by_row_key = |row: &RowId| part.iter().position(|placed| placed.write.keys.1 == row.row_key);
    match error {
        Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row) => {
            let at = by_row_key(row)?;
            let write = &part[at].write;
            let read = write.indexed && !matches!(write.what, What::Insert(_));
            let gone = matches!((&write.what, error), (What::Remove, Error::NotFound(_)));
            Some((at, read && !gone))
        }
        Error::UniqueViolation(violation) => {
            let has = |placed: &Placed| match &placed.write.what {
                What::Insert(new) | What::Upsert(new) => {
                    new.rows.iter().flatten().any(|row| row.keys.1 == violation.row.row_key)
                }
                _ => false,
            };
            // Of two in one transaction, the later one.
            Some((part.iter().rposition(has)?, false))
        }
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
