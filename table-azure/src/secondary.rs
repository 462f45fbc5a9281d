//! Reads from the secondary region of an account, after the primary region failed.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use table_store::backend::Continuation;

use super::{endpoint::Endpoint, retry::Retry};

/// Time for which a read is sent to the primary region only once, after the primary region failed.
const DOUBT: Duration = Duration::from_secs(30);
/// Mark of a continuation of the secondary region. No token has it, because a header cannot hold it.
const MARK: char = '\0';

/// A region of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Primary,
    Secondary,
}

impl Region {
    /// Returns the region that wrote the continuation, and its token. Only that region can interpret it.
    pub(super) fn of(from: &Continuation) -> (Self, &str) {
        match from.partition_key.strip_prefix(MARK) {
            Some(token) => (Self::Secondary, token),
            None => (Self::Primary, &from.partition_key),
        }
    }

    /// Returns the token of this region as it is kept in a continuation.
    pub(super) fn mark(self, token: String) -> String {
        match self {
            Self::Primary => token,
            Self::Secondary => format!("{MARK}{token}"),
        }
    }
}

/// The secondary region of an account.
#[derive(Debug)]
pub(super) struct Secondary {
    pub(super) endpoint: Endpoint,
    /// Time at which a read of the primary region failed last, unless one has succeeded since.
    failed: Mutex<Option<Instant>>,
}

impl Secondary {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, failed: Mutex::default() }
    }

    /// Notes whether a read of the primary region has failed.
    pub(super) fn note(&self, has_failed: bool) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = has_failed.then(Instant::now);
    }

    /// Returns the retries of a read of the primary region: none if it failed a short time ago.
    pub(super) fn retry(&self, retry: Retry) -> Retry {
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some_and(|at| at.elapsed() < DOUBT) { Retry { attempts: 1, ..retry } } else { retry }
    }
}
