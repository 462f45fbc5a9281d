//! The outcome of a bulk write.

use std::sync::Arc;

use super::Error;
use crate::RowId;

/// How far a bulk write is; also what it did in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkProgress {
    /// The entities that were taken from the input.
    pub read: usize,
    /// The entities that were written, or removed.
    pub written: usize,
    /// Those that were to be removed, and were not there.
    pub missing: usize,
    /// Those that failed.
    pub failed: usize,
}

/// A bulk write that did not write everything.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} of {} entities were not written{}; the first: {first}",
    progress.read - progress.written - progress.missing,
    progress.read,
    if *ended_early { ", and the rest of the input was not tried" } else { "" }
)]
#[non_exhaustive]
pub struct BulkError {
    /// What was done all the same.
    pub progress: BulkProgress,
    /// What was tried and failed, and why. What was taken from the input and not tried, after an error that ended it,
    /// is not among them.
    pub failures: Vec<BulkFailure>,
    /// Of the input, so many entities are done: written, or among the failures that concern themselves alone. To go on
    /// after what stopped it is gone, skip so many; some of the entities after them may have been written already.
    pub resume_from: usize,
    /// Whether it ended before all of the input was tried: at an error that is not about one entity, or after 10,000
    /// failures.
    pub ended_early: bool,
    first: Arc<Error>,
}

/// An entity that was not written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkFailure {
    /// Its place in the input, from 0.
    pub position: usize,
    /// Its row; `None` if it has none, since it cannot be encoded.
    pub row: Option<RowId>,
    /// Why; shared by those that failed together.
    pub error: Arc<Error>,
}

impl BulkError {
    /// Returns the error of a bulk write; `failures` are in the order of the input. `None` if nothing failed.
    pub(crate) fn new(
        progress: BulkProgress,
        failures: Vec<BulkFailure>,
        resume_from: usize,
        ended_early: bool,
    ) -> Option<Self> {
        let first = failures.first()?.error.clone();
        Some(Self { progress, failures, resume_from, ended_early, first })
    }
}
