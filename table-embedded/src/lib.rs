//! The embedded store, on `redb`: one implementation, for a file and for memory.
//!
//! Programs use the crate `table-runtime`, which exports what is public here in its module `backend`.
//!
//! Writers send their groups to the single `committer`. Readers read the `snapshot` that the
//! committer published last, on their own thread. A caller's thread waits for the disk only if it reads a page that is
//! not in the cache.

mod committer;
mod disjoint;
mod failure;
mod file;
mod prepared;
mod read;
mod snapshot;
mod store_key;
mod stored_value;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{Database, ReadableDatabase};
use table_store::{
    ETag, Error, Result, RowId,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, FailedGroup, Group, Reach, ReadRequest, ReadTarget,
        Reader, StoreView, TableRequest, Written,
    },
    error::{OutcomeUnknownError, RowNow},
};

use self::{
    committer::{Committer, Task, TaskDone, TaskResult},
    failure::{Reason, StoreError, StoreFailure, StoreRefusal},
    prepared::Prepared,
    snapshot::{Names, Published, Snapshot},
};

/// Number of transactions that a bulk write has in flight: while one commit reaches the disk, those of the next one
/// queue up.
const TRANSACTIONS: usize = 1_000;

/// A store in a file, which only one process at a time can have open.
///
/// Every write is on the disk before it is acknowledged. Dropping the store completes the queued writes and closes the
/// file, so that it can be opened again at once.
pub struct EmbeddedBackend {
    store: Store,
    path: PathBuf,
}

/// A store in memory, whose content is lost when it is dropped. Otherwise it behaves like an [`EmbeddedBackend`]. A clone is
/// another handle of the same store.
#[derive(Clone)]
pub struct InMemoryBackend {
    store: Store,
}

impl EmbeddedBackend {
    /// Opens the store's file, and creates it if it does not exist. Keeps up to 64 MiB of it in memory.
    ///
    /// # Errors
    /// [`Error::InUse`] if the file is already open, in this process or another one. [`Error::Store`] if it cannot be
    /// read or created, or is not a store's file.
    ///
    /// # Failures
    /// After an I/O error, for example because the disk is full, every write is [`Error::Store`] until the store is
    /// dropped and opened again, and so is every read of what is not in memory. If the commit itself failed, its writers get
    /// [`Error::OutcomeUnknown`].
    ///
    /// Damage to the file is detected by the call that reads the damaged part. A row whose checksum does not match its
    /// key and its value is [`Error::Damaged`]. If `redb` panics because of damaged data, the error is [`Error::Store`]
    /// and the store is closed: every later call is [`Error::Store`] with the same reason.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let store = failure::engine(|| Store::new(file::open(path)?))??;
        Ok(Self { store, path: path.to_owned() })
    }

    /// Compacts the store's file, which nobody may have open. Returns by how many bytes it became smaller: see
    /// `Tables::compact`.
    ///
    /// # Errors
    /// [`Error::InUse`] if this or another process has the file open. [`Error::Store`] if the file does not exist or cannot
    /// be read, or is not a store's file.
    pub fn compact(path: impl AsRef<Path>) -> Result<u64> {
        failure::engine(|| file::compact(path.as_ref()))?
    }

    /// Opens the store's file for reading. The file is not changed, and any number of processes can read it at the same
    /// time. While one does, [`open`](Self::open) is [`Error::InUse`].
    ///
    /// # Errors
    /// [`Error::InUse`] if this or another process has the file open for writing. [`Error::Store`] if the file does not
    /// exist, cannot be read, is not a store's file, or was not closed because its process was killed: then
    /// [`open`](Self::open) it once, which repairs it. Every write, and the creation and deletion of tables, is
    /// [`Error::Store`]; nothing is written.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let store = failure::engine(|| Store::read_only(path))??;
        Ok(Self { store, path: path.to_owned() })
    }
}

impl InMemoryBackend {
    /// Creates a store without tables.
    pub fn new() -> Result<Self> {
        let memory = redb::backends::InMemoryBackend::new();
        let database = redb::Builder::new().create_with_backend(memory).map_err(failure::store)?;
        file::initialize(&database).map_err(failure::store)?;
        Ok(Self { store: Store::new(database)? })
    }
}

impl fmt::Debug for EmbeddedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedBackend").field("path", &self.path).finish_non_exhaustive()
    }
}

impl fmt::Debug for InMemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryBackend").finish_non_exhaustive()
    }
}

impl fmt::Debug for StoreSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSnapshot").finish_non_exhaustive()
    }
}

/// The implementation that all backends of this store share.
#[derive(Clone)]
struct Store {
    published: Arc<Published>,
    // Dropped after the snapshot, because the committer closes the database.
    writer: Writer,
}

/// The receiver of writes.
#[derive(Clone)]
enum Writer {
    Committer(Arc<Committer>),
    /// Refuses writes to a file that was opened for reading.
    ReadOnly(PathBuf),
    /// Refuses writes to a [snapshot](StoreView::Snapshot), and keeps its store open.
    Snapshot {
        _store: Arc<Committer>,
    },
}

impl Writer {
    async fn ask(&self, task: Task) -> Result<TaskResult> {
        match self {
            Self::Committer(committer) => committer.ask(task).await,
            Self::ReadOnly(path) => Err(StoreError::ReadOnly(path.clone()).into()),
            Self::Snapshot { .. } => Err(StoreError::Snapshot.into()),
        }
    }

    /// Returns the writer of a snapshot.
    fn of_snapshot(&self) -> Self {
        match self {
            Self::ReadOnly(path) => Self::ReadOnly(path.clone()),
            Self::Committer(store) | Self::Snapshot { _store: store } => Self::Snapshot { _store: Arc::clone(store) },
        }
    }
}

/// The store as of one commit.
struct StoreSnapshot {
    store: Store,
}

impl Store {
    fn new(database: Database) -> Result<Self> {
        let (committer, published) = Committer::start(database)?;
        Ok(Self { published, writer: Writer::Committer(Arc::new(committer)) })
    }

    fn read_only(path: &Path) -> Result<Self> {
        let database = file::open_read_only(path)?;
        let snapshot = || -> Result<_, redb::Error> {
            let names = Names::read(&database.begin_read()?)?;
            Ok(Snapshot::new(&database, Arc::new(names))?)
        };
        let published = Published::new(snapshot().map_err(failure::store)?);
        Ok(Self { published: Arc::new(published), writer: Writer::ReadOnly(path.to_owned()) })
    }

    fn snapshot(&self) -> Result<Arc<dyn Backend>> {
        let published = Arc::new(Published::of(self.published.take()?));
        Ok(Arc::new(StoreSnapshot { store: Self { published, writer: self.writer.of_snapshot() } }))
    }

    async fn tables(&self, request: TableRequest<'_>) -> Result<Vec<String>> {
        let (table, operation, task) = match request {
            TableRequest::Create(table) => (table, "create", Task::CreateTable(table.to_owned())),
            TableRequest::Delete(table) => (table, "delete", Task::DeleteTable(table.to_owned())),
            TableRequest::List(prefix) => return Ok(self.published.take()?.names().beginning_with(prefix)),
        };
        match self.writer.ask(task).await? {
            Ok(TaskDone::Table(false)) => Ok(Vec::new()),
            Ok(TaskDone::Table(true) | TaskDone::Written(_)) => Ok(vec![table.to_owned()]),
            Err(failure) => Err(failure.into_error(table, operation, ("", ""))),
        }
    }

    /// Closes the store if `result` is a panic of `redb`, whose later answers would not be reliable. Returns `result`.
    fn closing<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::Store(error)) = &result
            && let Some(reason) = error.downcast_ref::<Reason>()
            && reason.is_panic()
        {
            self.published.publish(Err(reason.clone()));
        }
        result
    }

    fn read(&self, request: ReadRequest<'_>, reader: Reader<'_>) -> Result<Option<Continuation>> {
        let snapshot = self.published.take()?;
        let rows = snapshot.rows(request.target.table());
        self.closing(rows.and_then(|rows| match request.target {
            ReadTarget::Row { table, partition_key, row_key, select } => {
                read::get(rows, table, partition_key, row_key, select, request.checks, reader).map(|()| None)
            }
            ReadTarget::Page { scan, from } => read::page(rows, scan, from, request.checks, reader),
        }))
    }

    async fn execute(&self, groups: &[Group]) -> Written {
        match self.writer.ask(Task::Write(Prepared::of(groups))).await? {
            Ok(TaskDone::Written(timestamp)) => {
                let etag = |action: &Action| (!matches!(action, Action::Delete(_))).then(|| ETag::from(timestamp));
                let operations = groups.iter().flat_map(|group| &group.operations);
                Ok(operations.map(|operation| etag(&operation.action)).collect())
            }
            Ok(TaskDone::Table(_)) => Ok(Vec::new()),
            Err(failure) => {
                let mut positions = groups.iter().enumerate().flat_map(|(position, group)| {
                    group.operations.iter().map(move |operation| (position, group, &*operation.row_key))
                });
                let Some((group, failed, row_key)) = positions.nth(failure.at()) else {
                    return Err(failure.into_error("", "transaction", ("", "")).into());
                };
                let operation = if groups.len() == 1 { failed.name() } else { "transaction" };
                let error = failure.into_error(&failed.table, operation, (&failed.partition_key, row_key));
                Err(FailedGroup { group, error })
            }
        }
    }
}

impl StoreFailure {
    /// Returns the position of the operation that failed; the first one, if the failure concerns them all.
    const fn at(&self) -> usize {
        match self {
            Self::NoTable { at } | Self::Refused { at, .. } => *at,
            Self::Failed(_) | Self::Unknown(_) => 0,
        }
    }

    /// Converts the failure into an error for the writer of the row with these keys.
    fn into_error(self, table: &str, operation: &'static str, (partition_key, row_key): (&str, &str)) -> Error {
        let row = || {
            let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
            RowId { table: table.to_owned(), partition_key, row_key }
        };
        match self {
            Self::NoTable { .. } => Error::TableNotFound(table.to_owned().into()),
            Self::Refused { why, .. } => match why {
                StoreRefusal::AlreadyExists => Error::AlreadyExists(row().into()),
                StoreRefusal::NotFound => Error::NotFound(row().into()),
                StoreRefusal::ConditionNotMet => Error::ConditionNotMet(row().into()),
                StoreRefusal::Damaged(damage) => Error::damaged(row(), damage),
                StoreRefusal::Row(error) => *error,
            },
            Self::Failed(reason) => reason.into(),
            Self::Unknown(reason) => {
                let mut error = OutcomeUnknownError::new(operation, row(), reason.to_string());
                error.now = RowNow::Unread("the store has to be opened again".to_owned());
                Box::new(error).into()
            }
        }
    }
}

macro_rules! delegate_to_store {
    ($backend:ty) => {
        impl Backend for $backend {
            fn describe(&self) -> Description<'_> {
                Description {
                    reach: Reach::Store,
                    side_by_side: TRANSACTIONS,
                    // The committer answers every request.
                    may_lose_answers: false,
                    in_process: Some(&self.store.published.shared),
                    ..Description::new("redb")
                }
            }

            fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
                Box::pin(self.store.tables(request))
            }

            fn read<'a>(
                &'a self,
                request: ReadRequest<'a>,
                reader: Reader<'a>,
            ) -> BoxFuture<'a, Result<Option<Continuation>>> {
                Box::pin(async move { self.store.read(request, reader) })
            }

            fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
                Box::pin(self.store.execute(groups))
            }

            fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
                match view {
                    StoreView::Snapshot => self.store.snapshot().map(Some),
                    StoreView::SecondaryReads => Ok(None),
                }
            }
        }
    };
}

delegate_to_store!(EmbeddedBackend);
delegate_to_store!(InMemoryBackend);
delegate_to_store!(StoreSnapshot);
