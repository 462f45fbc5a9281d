//! What the committer answers where it did not write, and the reasons of this store's own.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
};

use crate::{DamagedProperties, Error};

/// Why a write was not done, or perhaps done; the writer makes an [`Error`] of it, since it knows the operation.
#[derive(Debug)]
pub(super) enum Failure {
    /// The table does not exist.
    NoTable,
    /// An operation of a group cannot be done.
    Refused {
        /// Which one, in the order of the group.
        at: usize,
        /// Why not.
        why: Refusal,
    },
    /// Nothing was written: the store failed before it committed.
    Failed(Reason),
    /// The commit failed: it may have reached the disk.
    Unknown(Reason),
}

/// Why an operation of a group cannot be done.
#[derive(Debug)]
pub(super) enum Refusal {
    AlreadyExists,
    NotFound,
    ConditionNotMet,
    Damaged(DamagedProperties),
    /// The row that a merge would leave breaks a limit.
    Limit(Box<Error>),
}

/// A reason that all the writers of one commit are given, or all callers after the store was closed.
#[derive(Clone, Debug)]
pub(super) struct Reason(Arc<Cause>);

#[derive(Debug)]
enum Cause {
    Engine(redb::Error),
    /// The engine met what it did not expect: the file is damaged. What it said.
    Panic(String),
}

impl Reason {
    /// The reason of a panic in the engine, after which the store is closed.
    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Self(Arc::new(Cause::Panic(text.to_owned())))
    }

    /// Whether the store has to be closed.
    pub(super) fn is_panic(&self) -> bool {
        matches!(*self.0, Cause::Panic(_))
    }
}

/// Calls the engine, whose panics become reasons to close the store: `redb` panics at some of what it finds in a damaged
/// file. What the call has borrowed must not be used after it panicked, unless the engine says so.
#[inline]
pub(super) fn engine<T>(call: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| Reason::panicked(&*payload))
}

impl<E: Into<redb::Error>> From<E> for Reason {
    fn from(error: E) -> Self {
        Self(Arc::new(Cause::Engine(error.into())))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            // After one the engine writes no more.
            Cause::Engine(error @ (redb::Error::Io(_) | redb::Error::PreviousIo)) => {
                write!(f, "{error}; nothing can be written until you open the store again")
            }
            Cause::Engine(error) => error.fmt(f),
            Cause::Panic(text) => {
                write!(f, "it was closed because its engine panicked, since the file may be damaged: {text}")
            }
        }
    }
}

impl std::error::Error for Reason {}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Self::Store(Box::new(reason))
    }
}

/// A failure of a read.
pub(super) fn store(error: impl Into<redb::Error>) -> Error {
    Error::Store(Box::new(error.into()))
}

/// What can be wrong with a store beside what `redb` and the operating system say.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("{} was written by another program", .0.display())]
    Foreign(PathBuf),
    #[error("{} has the format {found}; this version reads the format {known}", path.display())]
    Format { path: PathBuf, found: u64, known: u64 },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Database { path: PathBuf, source: redb::Error },
    #[error("{} is not a file's name", .0.display())]
    NoFile(PathBuf),
    #[error("it was stopped by a failure")]
    Stopped,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}
