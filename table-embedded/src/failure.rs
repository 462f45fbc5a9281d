//! Failures that the committer reports to writers, and the reasons that are specific to this store.

use std::{
    any::Any,
    cell::Cell,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    sync::Arc,
};

use table_store::{DamagedProperties, Error};

/// Reason why a write was not done, or perhaps not done. The writer converts it into an [`Error`], because only the
/// writer knows the operation.
#[derive(Debug)]
pub(super) enum StoreFailure {
    /// The table does not exist.
    NoTable {
        /// Position of the first operation on it, in the order of the groups and their operations.
        at: usize,
    },
    /// An operation cannot be done.
    Refused {
        /// Position of the operation, in the order of the groups and their operations.
        at: usize,
        /// Reason why it cannot be done.
        why: StoreRefusal,
    },
    /// Nothing was written: the store failed before the commit.
    Failed(Reason),
    /// The commit failed, but it may have reached the disk.
    Unknown(Reason),
}

/// Reason why an operation of a group cannot be done.
#[derive(Debug)]
pub(super) enum StoreRefusal {
    AlreadyExists,
    NotFound,
    ConditionNotMet,
    Damaged(DamagedProperties),
    /// The row that would result from a merge breaks a limit, or a row next to the place of a new one is damaged.
    Row(Box<Error>),
}

/// A reason that is shared by all writers of one commit, or by all callers after the store was closed.
#[derive(Clone, Debug)]
pub(super) struct Reason(Arc<Cause>);

#[derive(Debug)]
enum Cause {
    Engine(redb::Error),
    /// The message of a panic in `redb`, which found unexpected data because the file is damaged.
    Panic(String),
}

impl Reason {
    /// Returns the reason for a panic in `redb`, after which the store is closed.
    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Self(Arc::new(Cause::Panic(text.to_owned())))
    }

    /// Returns true if the store has to be closed.
    pub(super) fn is_panic(&self) -> bool {
        matches!(*self.0, Cause::Panic(_))
    }
}

/// Calls `redb`, and converts its panics into reasons to close the store: `redb` panics because of some damage to a
/// file. After a panic, do not use what the call borrowed, unless `redb` allows it.
#[inline]
pub(super) fn engine<T>(call: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| Reason::panicked(&*payload))
}

/// Does the same as [`engine`] for a call that also calls the caller's code, and sets `is_in_caller` meanwhile. A panic of
/// the caller is passed on. One such call for all rows of a page takes less time than a call of [`engine`] for each row.
#[inline]
pub(super) fn engine_and_caller<T>(is_in_caller: &Cell<bool>, call: impl FnOnce() -> T) -> Result<T, Reason> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Err(payload) if is_in_caller.get() => resume_unwind(payload),
        done => done.map_err(|payload| Reason::panicked(&*payload)),
    }
}

impl<E: Into<redb::Error>> From<E> for Reason {
    fn from(error: E) -> Self {
        Self(Arc::new(Cause::Engine(error.into())))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            // After an I/O error, `redb` refuses everything that is not in its cache.
            Cause::Engine(error @ (redb::Error::Io(_) | redb::Error::PreviousIo)) => {
                let advice = "until you open the store again, nothing can be written, and reads fail, too";
                write!(f, "{error}; {advice}")
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

/// Converts an error of `redb` into the error of a read.
pub(super) fn store(error: impl Into<redb::Error>) -> Error {
    Reason::from(error).into()
}

/// Errors of the store itself, and errors of `redb` and the operating system together with the file's path.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("{} is no store: it was written by another program", .0.display())]
    Foreign(PathBuf),
    #[error("{} is no store: it is empty", .0.display())]
    Empty(PathBuf),
    #[error("{} has the format {found}; this version reads the format {known}", path.display())]
    Format { path: PathBuf, found: u64, known: u64 },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Database { path: PathBuf, source: redb::Error },
    #[error("{} is not a file's name", .0.display())]
    NoFile(PathBuf),
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    #[error(
        "{} was not closed, because its process was killed: open it once for writing, as `tables open` does, which repairs it",
        .0.display()
    )]
    Unclosed(PathBuf),
    #[error("{} was opened for reading, so nothing can be written", .0.display())]
    ReadOnly(PathBuf),
    #[error("nothing can be written to a snapshot")]
    Snapshot,
    #[error("it was stopped by a failure")]
    Stopped,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(Box::new(error))
    }
}
