//! The outcome of a bulk write.

use std::sync::Arc;

use crate::{Error, RowId};

/// Progress of a bulk write; also its final result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Number of entities that were taken from the input.
    pub read: usize,
    /// Number of entities that were written or removed.
    pub written: usize,
    /// Number of entities that were to be removed but did not exist.
    pub missing: usize,
    /// Number of entities that failed.
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
    /// Progress up to the end, including the entities that were written.
    pub progress: BulkProgress,
    /// Entities that were tried and failed, with the reasons. If an error ended the write, entities that were taken
    /// from the input and not tried are not included.
    pub failures: Vec<BulkFailure>,
    /// Number of entities at the beginning of the input that are done: each is written, or failed for a reason of its
    /// own. To resume after the cause is removed, skip this number of entities; some of the entities after them may
    /// already be written.
    pub resume_from: usize,
    /// `true` if the write ended before all of the input was tried: at an error that does not concern a single entity,
    /// or after 10,000 failures.
    pub ended_early: bool,
    first: Arc<Error>,
}

/// An entity that was not written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkFailure {
    /// Position in the input, counted from 0.
    pub position: usize,
    /// Row of the entity; `None` if the entity cannot be encoded and thus has no row.
    pub row: Option<RowId>,
    /// Reason; shared by entities that failed together.
    pub error: Arc<Error>,
}

impl BulkFailure {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(position: usize, row: Option<RowId>, error: Arc<Error>) -> Self {
        Self { position, row, error }
    }
}

impl BulkError {
    /// Returns the reason of the first failure.
    pub(super) fn first(&self) -> &Error {
        &self.first
    }

    /// Returns the error of a bulk write; `failures` are in the order of the input. `None` if nothing failed.
    #[doc(hidden)]
    pub fn new(
        progress: BulkProgress,
        failures: Vec<BulkFailure>,
        resume_from: usize,
        ended_early: bool,
    ) -> Option<Self> {
        let first = failures.first()?.error.clone();
        Some(Self { progress, failures, resume_from, ended_early, first })
    }
}
