//! Narrow trait that every store implements: rows and scans, no entities.
//!
//! A backend receives only valid input: [`Tables`](crate::Tables) first checks keys, rows, groups and scans against the
//! service's limits, which are the same for every backend.
//!
//! # The feature `azure`
//! The backend of the service is built on the crate `azure_data_tables` 0.21 and its family, which are not maintained
//! any more. It uses of them:
//!
//! | crate | what is used |
//! |---|---|
//! | `azure_data_tables` | the client that creates and deletes tables; the types of the parameters `$filter`, `$select` and `$top`, of the preference `return-no-content`, and of conditions on ETags |
//! | `azure_storage` | the pipeline, which signs requests with account keys and shared access signatures; the credentials of the emulator |
//! | `azure_core` | the types of requests, headers and policies |
//!
//! Requests on rows, transactions, retries, connections, tokens and the reading of answers are this crate's own. The
//! family brings all known advisories of the feature. None of them concerns code that this backend calls, and without
//! the feature none of it is compiled:
//!
//! | advisory | crate | needed by | why it does not apply |
//! |---|---|---|---|
//! | RUSTSEC-2026-0194, RUSTSEC-2026-0195 | `quick-xml` 0.31 | `azure_core`, for `azure_storage` | no request on tables reads XML with it |
//! | RUSTSEC-2026-0174 | `http-types` 2 | `azure_core` | only its status codes and names of headers are used |
//! | RUSTSEC-2026-0097 | `rand` 0.7 | `http-types` | no logger calls it |
//! | RUSTSEC-2024-0436 (not maintained) | `paste` | `azure_core` | a macro, which is run when compiling |
//! | RUSTSEC-2024-0384 (not maintained) | `instant` | `http-types` | compiled for WebAssembly only, which this backend does not support |
//!
//! `azure_data_tables` requires `azure_storage`, that requires `azure_core` with XML, and `azure_core` requires the
//! others, so no choice of features avoids them. The feature `entra` adds `azure_core` 1.x, which does not depend on
//! these crates.

use std::{
    borrow::Cow,
    fmt,
    future::Future,
    ops::Bound,
    pin::Pin,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use backon::{FuturesTimerSleeper, Sleeper};

pub use crate::key::KeyRange;
use crate::{Condition, ETag, Error, LimitError, Properties, Result, Row, RowRef, RowSet, ValueRef};

#[cfg(feature = "azure")]
mod azure;
mod check;
#[cfg(feature = "embedded")]
mod embedded;
mod observed;
mod prefixed;

#[cfg(feature = "azure")]
pub use azure::{AccessToken, AzureBackend, AzureBuilder};
#[cfg(feature = "embedded")]
pub use embedded::{EmbeddedBackend, InMemoryBackend};
pub(crate) use observed::Observed;
pub(crate) use prefixed::Prefixed;

/// Boxed future, as methods of a trait object return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Function that reads a row by reference. An error ends the read and is returned from it.
pub type Reader<'a> = &'a mut (dyn FnMut(RowRef<'_>) -> Result<()> + Send);

/// A key-ordered table store.
///
/// Rows are ordered by their partition keys, then by their row keys, both by UTF-16 unit.
///
/// # Errors
/// A write returns [`Error::OutcomeUnknown`], with the row unread, if it may have been
/// applied although its answer was lost. Any other error means that nothing was written.
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// Creates the table, and returns `false` if it already existed.
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// Deletes the table with its rows, and returns `false` if it did not exist.
    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// Returns the names of the tables that begin with `prefix`, in order.
    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Returns the row with these keys. With `select`, the row has only these of its own properties.
    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>>;

    /// Returns one page of a scan, either the first or the one at the continuation of the page before. A page may be
    /// empty and still have a continuation.
    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>>;

    /// Calls `read` with a reference to the row that [`get`](Self::get) would return, and returns whether the row
    /// exists. A store that holds its rows in memory need not copy them.
    ///
    /// The row may have more properties than were selected. Their bytes may be unchecked: `read` must detect damage, as
    /// reading an entity does.
    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let row = self.get(table, partition_key, row_key, select).await?;
            row.as_ref().map(|row| read(row.as_ref())).transpose().map(|read| read.is_some())
        })
    }

    /// Calls `read` for each row of the page that [`query`](Self::query) would return, by reference as
    /// [`get_with`](Self::get_with) does, and returns the page's continuation.
    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            let page = self.query(scan, from).await?;
            page.rows.iter().try_for_each(read)?;
            Ok(page.next)
        })
    }

    /// Executes all of the operations or none, and returns each row's new ETag; `None` for a deleted row.
    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>>;

    /// Returns the rows that one transaction can span: those of a partition, or those of the whole store.
    ///
    /// If transactions span the store, the index rows of an entity are written in the entity's own transaction, in
    /// whatever partition they are. All handles of a store must agree on this.
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    /// Executes all of the operations of all groups or none, and returns each row's new ETag in the order of the groups
    /// and their operations; `None` for a deleted row. Each group has another partition than the others.
    ///
    /// A store whose transactions span a partition receives one group.
    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        Box::pin(async move {
            let executed = match groups {
                [group] => self.execute(group).await,
                groups => Err(too_wide(groups)),
            };
            executed.map_err(|error| FailedGroup { group: 0, error })
        })
    }

    /// Returns the name of the kind of store, which spans and events of `tracing` have as `db.system.name`.
    fn system(&self) -> &'static str {
        "table_store"
    }

    /// Returns a backend of the same store whose reads are answered by a copy of the store, such as that in another
    /// region, if the store does not answer; `None` if there is no copy. What such a backend reads may be out of date.
    /// [`Tables::with_secondary_reads`](crate::Tables::with_secondary_reads) uses it for queries, and for nothing that
    /// a write, a job or the catalog relies on.
    fn secondary_reads(&self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Returns the number of transactions with which a bulk write begins, and the default of the most that it has in
    /// flight.
    fn side_by_side(&self) -> usize {
        16
    }

    /// Returns how many answers since the backend was created have shown that the store is overloaded: answers that
    /// asked to slow down, and slow ones. The number never falls. Bulk writes have fewer transactions in flight when it
    /// grows. A store that slows down its callers by itself, such as one in the same process, need not count.
    fn overloads(&self) -> u64 {
        0
    }

    /// Returns the store as it is now, for reads that see no later write; `None` if the store has no snapshots, like
    /// the service. Writes to a snapshot are errors.
    ///
    /// # Errors
    /// Returns the errors of the store.
    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }

    /// Waits before retrying an operation that lost a race to another writer. A test backend may wait for less time, or
    /// not at all.
    fn pause(&self, delay: Duration) -> BoxFuture<'_, ()> {
        Box::pin(FuturesTimerSleeper.sleep(delay))
    }

    /// Waits for this time, as [`clock`](Self::clock) measures it. The caller relies on it: other handles must not rely
    /// any more on what they read before.
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(FuturesTimerSleeper.sleep(time))
    }

    /// Waits for this time, after which its caller gives up a write that was not answered. A store in the same process,
    /// whose answers are never lost, need not let its callers give up: it waits for ever.
    fn deadline(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.sleep(time)
    }

    /// Returns the time of a monotonic clock, since any fixed moment. It measures how long a handle may rely on what it
    /// read. A test backend with a simulated clock overrides this together with [`sleep`](Self::sleep).
    fn clock(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }
}

/// Rows that one transaction of a store can span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The rows of one partition, as on the service.
    Partition,
    /// All rows of the store.
    Store,
}

/// The failure of a transaction that spans several partitions: nothing was written, unless the error is
/// [`Error::OutcomeUnknown`].
#[derive(Debug)]
pub struct FailedGroup {
    /// Position of the group that the error concerns.
    pub group: usize,
    /// The error.
    pub error: Error,
}

/// Returns the error of a transaction that spans several partitions, in a store that has no such transactions.
#[cold]
fn too_wide(groups: &[Group]) -> Error {
    let table = groups.first().map_or_else(String::new, |group| group.table.to_string());
    let (what, found) = ("the transaction has".to_owned(), format!("{} partitions", groups.len()));
    Box::new(LimitError { table, row: None, what, found, limit: "one partition of one table" }).into()
}

/// A read of rows in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The table.
    pub table: Cow<'static, str>,
    /// Partitions to read.
    pub partitions: Partitions,
    /// Range of row keys to read, in each of the partitions.
    pub rows: KeyRange,
    /// A condition on the properties.
    pub filter: Option<Condition>,
    /// Properties to return besides the keys; `None` for all of them.
    pub select: Option<Cow<'static, [&'static str]>>,
    /// Largest number of rows in a page: 1 to 1000.
    pub page: u32,
}

/// Partitions that a scan reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// One partition.
    One(String),
    /// The partitions whose keys are in a range.
    Range(KeyRange),
}

impl Partitions {
    /// All partitions.
    pub const ALL: Self = Self::Range(KeyRange::ALL);

    /// Returns all partitions after this one.
    pub const fn after(partition_key: String) -> Self {
        Self::Range(KeyRange { from: Bound::Excluded(partition_key), to: Bound::Unbounded })
    }
}

/// Position at which a scan continues. Only the backend that created it can interpret it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// The embedded store: the last row's partition key. The service: `NextPartitionKey`.
    pub partition_key: String,
    /// The embedded store: the last row's row key. The service: `NextRowKey`, which may be absent.
    pub row_key: Option<String>,
}

/// A page of a scan.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Rows in key order; may be empty.
    pub rows: RowSet,
    /// Position of the next page; `None` at the end.
    pub next: Option<Continuation>,
}

/// Writes to rows of one partition, of which all or none are applied: an entity group transaction, or a single write.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The table.
    pub table: Cow<'static, str>,
    /// The partition key.
    pub partition_key: String,
    /// 1 to 100 operations, each on another row. A single operation is sent as a plain request.
    pub operations: Vec<Operation>,
}

/// One write of a [`Group`].
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The row key.
    pub row_key: String,
    /// Write to execute.
    pub action: Action,
}

/// Kind of write that an [`Operation`] executes.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Writes a new row; if it exists, returns [`Error::AlreadyExists`].
    Insert(Properties),
    /// Writes the row, which may be new or replace an existing one.
    Upsert(Properties),
    /// Replaces an existing row; if there is none, returns [`Error::NotFound`].
    Replace(Properties, IfMatch),
    /// Sets these properties of an existing row and keeps its others; if there is no row, returns
    /// [`Error::NotFound`].
    Merge(Properties, IfMatch),
    /// Deletes an existing row; if there is none, returns [`Error::NotFound`].
    Delete(IfMatch),
}

impl Action {
    /// Returns the operation's name in errors and traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::Upsert(_) => "upsert",
            Self::Replace(..) => "update",
            Self::Merge(..) => "patch",
            Self::Delete(_) => "delete",
        }
    }

    /// Returns the properties that the action writes.
    pub const fn properties(&self) -> Option<&Properties> {
        match self {
            Self::Insert(properties)
            | Self::Upsert(properties)
            | Self::Replace(properties, _)
            | Self::Merge(properties, _) => Some(properties),
            Self::Delete(_) => None,
        }
    }
}

/// Condition of a write to an existing row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// Any version (`*`).
    Any,
    /// This version; for another, the write returns [`Error::ConditionNotMet`].
    ETag(ETag),
}

impl Group {
    /// Checks the keys, the operations and the size of the request.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] for the first limit of the service that the group exceeds.
    pub fn check(&self) -> Result<()> {
        check::group(self)
    }

    /// Returns the operation's name in errors and traces: the name of a single operation, or `transaction`.
    pub fn name(&self) -> &'static str {
        match self.operations.as_slice() {
            [operation] => operation.action.name(),
            _ => "transaction",
        }
    }
}

impl Scan {
    /// Checks the keys, the filter and the length of the address.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] for the first limit of the service that the scan exceeds.
    pub fn check(&self) -> Result<()> {
        check::scan(self)
    }

    /// Returns the number of comparisons that the keys and the filter need.
    pub fn comparisons(&self) -> usize {
        let bounds = |KeyRange { from, to }: &KeyRange| {
            [from, to].into_iter().filter(|bound| **bound != Bound::Unbounded).count()
        };
        let partitions = match &self.partitions {
            Partitions::One(_) => 1,
            Partitions::Range(range) => bounds(range),
        };
        partitions + bounds(&self.rows) + self.filter.as_ref().map_or(0, Condition::comparisons)
    }

    /// Returns the OData filter of the whole scan, such as `PartitionKey eq 'Marcus' and RowKey ge '25'`; empty for all
    /// rows.
    pub fn odata(&self) -> String {
        let mut terms = Vec::new();
        let mut term =
            |name: &str, operator: &str, key: &str| terms.push(format!("{name} {operator} {}", ValueRef::String(key)));
        let mut range = |name: &str, range: &KeyRange| match (&range.from, &range.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => term(name, "eq", from),
            (from, to) => {
                match from {
                    Bound::Included(key) => term(name, "ge", key),
                    Bound::Excluded(key) => term(name, "gt", key),
                    Bound::Unbounded => {}
                }
                match to {
                    Bound::Included(key) => term(name, "le", key),
                    Bound::Excluded(key) => term(name, "lt", key),
                    Bound::Unbounded => {}
                }
            }
        };
        match &self.partitions {
            Partitions::One(key) => {
                let key = Bound::Included(key.clone());
                range("PartitionKey", &KeyRange { from: key.clone(), to: key });
            }
            Partitions::Range(partitions) => range("PartitionKey", partitions),
        }
        range("RowKey", &self.rows);
        match &self.filter {
            Some(condition) if terms.is_empty() => return condition.to_string(),
            Some(condition) => terms.push(format!("({condition})")),
            None => {}
        }
        terms.join(" and ")
    }
}

/// Implements the requests of a [`Backend`] by those of another one, by kind: tables, points (reads and writes of rows by
/// their keys), queries, time (with the overloads and the name).
macro_rules! forward_requests {
    ($this:ident => $inner:expr; $($kind:ident),+) => {
        $(forward_requests!(@$kind $this, $inner);)+
    };
    (@tables $this:ident, $inner:expr) => {
        fn create_table<'a>(&'a self, table: &'a str) -> $crate::backend::BoxFuture<'a, $crate::Result<bool>> {
            let $this = self;
            $inner.create_table(table)
        }

        fn delete_table<'a>(&'a self, table: &'a str) -> $crate::backend::BoxFuture<'a, $crate::Result<bool>> {
            let $this = self;
            $inner.delete_table(table)
        }

        fn list_tables<'a>(&'a self, prefix: &'a str) -> $crate::backend::BoxFuture<'a, $crate::Result<Vec<String>>> {
            let $this = self;
            $inner.list_tables(prefix)
        }
    };
    (@points $this:ident, $inner:expr) => {
        fn get<'a>(
            &'a self,
            table: &'a str,
            partition_key: &'a str,
            row_key: &'a str,
            select: Option<&'a [&'static str]>,
        ) -> $crate::backend::BoxFuture<'a, $crate::Result<Option<$crate::Row>>> {
            let $this = self;
            $inner.get(table, partition_key, row_key, select)
        }

        fn get_with<'a>(
            &'a self,
            table: &'a str,
            partition_key: &'a str,
            row_key: &'a str,
            select: Option<&'a [&'static str]>,
            read: $crate::backend::Reader<'a>,
        ) -> $crate::backend::BoxFuture<'a, $crate::Result<bool>> {
            let $this = self;
            $inner.get_with(table, partition_key, row_key, select, read)
        }

        fn execute<'a>(
            &'a self,
            group: &'a $crate::backend::Group,
        ) -> $crate::backend::BoxFuture<'a, $crate::Result<Vec<Option<$crate::ETag>>>> {
            let $this = self;
            $inner.execute(group)
        }
    };
    (@queries $this:ident, $inner:expr) => {
        fn query<'a>(
            &'a self,
            scan: &'a $crate::backend::Scan,
            from: Option<&'a $crate::backend::Continuation>,
        ) -> $crate::backend::BoxFuture<'a, $crate::Result<$crate::backend::Page>> {
            let $this = self;
            $inner.query(scan, from)
        }

        fn query_with<'a>(
            &'a self,
            scan: &'a $crate::backend::Scan,
            from: Option<&'a $crate::backend::Continuation>,
            read: $crate::backend::Reader<'a>,
        ) -> $crate::backend::BoxFuture<'a, $crate::Result<Option<$crate::backend::Continuation>>> {
            let $this = self;
            $inner.query_with(scan, from, read)
        }
    };
    (@time $this:ident, $inner:expr) => {
        fn pause(&self, delay: std::time::Duration) -> $crate::backend::BoxFuture<'_, ()> {
            let $this = self;
            $inner.pause(delay)
        }

        fn sleep(&self, time: std::time::Duration) -> $crate::backend::BoxFuture<'_, ()> {
            let $this = self;
            $inner.sleep(time)
        }

        fn deadline(&self, time: std::time::Duration) -> $crate::backend::BoxFuture<'_, ()> {
            let $this = self;
            $inner.deadline(time)
        }

        fn clock(&self) -> std::time::Duration {
            let $this = self;
            $inner.clock()
        }

        fn system(&self) -> &'static str {
            let $this = self;
            $inner.system()
        }

        fn overloads(&self) -> u64 {
            let $this = self;
            $inner.overloads()
        }
    };
}
pub(crate) use forward_requests;

/// A shared backend.
impl<B: Backend + ?Sized> Backend for Arc<B> {
    forward_requests!(this => (**this); tables, points, queries, time);

    fn reach(&self) -> Reach {
        (**self).reach()
    }

    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        (**self).execute_all(groups)
    }

    fn secondary_reads(&self) -> Option<Arc<dyn Backend>> {
        (**self).secondary_reads()
    }

    fn side_by_side(&self) -> usize {
        (**self).side_by_side()
    }

    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        (**self).snapshot()
    }
}
