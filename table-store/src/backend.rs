//! Narrow trait that every store implements: rows and scans, no entities.
//!
//! A backend receives only valid input: `Tables` first checks keys, rows, groups and scans against the service's limits,
//! which are the same for every backend.
//!
//! To add a backend to this repository: implement the trait in a crate that uses `table-store` alone, run the cases of
//! `table_runtime::testing::conformance`, and add it to `Kind` in `tests/src/stores.rs`, on which the conformance suite runs. One that
//! counts or changes the requests of another one belongs to `table-testing`, if tests of applications need it; to
//! `unstable/client.rs`, if every handle does; or beside the verb that needs it.

use std::{borrow::Cow, fmt, future::Future, ops::Bound, pin::Pin, sync::Arc};

pub use crate::unstable::order::KeyRange;
use crate::{
    Condition, ETag, Error, Properties, Result, RowRef, RowSet, ValueRef, error::LimitError, unstable::limits,
};

mod check;
mod clock;
mod ext;
mod in_process;
mod service;

pub use clock::{Clock, Sleep, SystemClock};
pub use ext::BackendExt;
pub use in_process::{Commits, InProcess, OnlyOne};
pub use service::{Grant, RemoteService, Replication, Sas, SasPermissions};

/// Boxed future, as methods of a trait object return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Function that reads a row by reference. An error ends the read and is returned from it.
pub type Reader<'a> = &'a mut (dyn FnMut(RowRef<'_>) -> Result<()> + Send);

/// A key-ordered table store.
///
/// Rows are ordered by their partition keys, then by their row keys, both by UTF-16 unit.
///
/// A request is a value, and no method has a default: a backend placed before another one states for each of them what it
/// does, mostly by passing the request on. [`BackendExt`] has the requests with arguments, for callers.
///
/// ```
/// use std::sync::{
///     Arc,
///     atomic::{AtomicUsize, Ordering::Relaxed},
/// };
///
/// use table_runtime::{
///     Result,
///     backend::{
///         Backend, BoxFuture, Continuation, Description, Group, ReadRequest, Reader, TableRequest, StoreView, Written,
///     },
/// };
///
/// /// A backend that counts the transactions.
/// #[derive(Debug)]
/// struct Counted<B>(B, Arc<AtomicUsize>);
///
/// impl<B: Backend> Backend for Counted<B> {
///     fn describe(&self) -> Description<'_> {
///         self.0.describe()
///     }
///     fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
///         self.0.tables(request)
///     }
///     fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
///         self.0.read(request, reader)
///     }
///     fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
///         self.1.fetch_add(1, Relaxed);
///         self.0.execute(groups)
///     }
///     fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
///         Ok(self.0.view(view)?.map(|inner| Arc::new(Counted(inner, self.1.clone())) as _))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "not a `Backend`",
    note = "`Tables::connect(\"…\")?` takes a connection string, also `UseDevelopmentStorage=true`, with the feature \
            `azure`; a file: `Tables::open(\"blog.tables\")?`; a store in memory: `Tables::in_memory()?`",
    note = "of a builder, `.build()?` returns the store; a `Result` of one needs `?`; a store that is chosen at run time: \
            make the `Tables` in each branch, which have one type",
    note = "`Tables` is made of a backend: where a backend is expected, give the `InMemoryBackend` or `AzureBackend` itself",
    note = "what counts, fails or delays requests is made as a pair: `let (backend, faults) = \
            Faulty::new(InMemoryBackend::new()?)`, and then `Tables::new(backend)`; layers of other libraries do not wrap a \
            backend: limits are those of `AzureBackend::builder(account)`, such as `.timeout(limit)`"
)]
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// Describes the store as it is now. This sends no request.
    fn describe(&self) -> Description<'_>;

    /// Creates, deletes or lists tables. Returns the names of the tables that were created, deleted or found, in order:
    /// none if the table to create exists, or the one to delete does not.
    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Calls `reader` with each row that the request asks for, by reference: a store that holds its rows in memory need
    /// not copy them. Returns the continuation of a page; `None` at the end of the scan, and for a single row.
    ///
    /// A page may be empty and still have a continuation. For a row that does not exist, `reader` is not called.
    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>>;

    /// Executes all of the operations of all groups or none, and returns each row's new ETag in the order of the groups
    /// and their operations; `None` for a deleted row. Each group has another partition than the others. A store whose
    /// transactions span a partition receives one group.
    ///
    /// # Errors
    /// Returns [`Error::OutcomeUnknown`], with the row unread, if the transaction may have been applied although its answer
    /// was lost. Any other error means that nothing was written.
    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written>;

    /// Returns a backend of the same store that only reads, as `view` describes it; `None` if the store has no such view.
    /// This sends no request.
    ///
    /// # Errors
    /// Returns the errors of a store that cannot be read.
    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>>;
}

/// The properties of a store.
///
/// A store states what differs from the [default](Self::new), and a backend before another one what differs from the other
/// one: `Description { reach: Reach::Partition, ..self.inner.describe() }`.
#[derive(Clone, Copy)]
pub struct Description<'a> {
    /// Name of the kind of store, which spans and events of `tracing` have as `db.system.name`.
    pub system: &'static str,
    /// Rows that one transaction can span.
    ///
    /// If transactions span the store, the index rows of an entity are written in the entity's own transaction, in
    /// whatever partition they are. All handles of a store must agree on this.
    pub reach: Reach,
    /// Number of transactions with which a bulk write begins, and the default of the most that it has in flight.
    pub side_by_side: usize,
    /// Number of answers since the backend was created that showed an overload: answers that asked to slow down, and slow
    /// ones. It never falls. Bulk writes have fewer transactions in flight when it grows. A store that slows down its
    /// callers by itself, such as one in the same process, need not count.
    pub overloads: u64,
    /// False if each request is answered at once, as in a store in the same process: a query of hash partitions then asks one
    /// partition after another, for few rows at a time. Otherwise a caller gives up a write that is not answered in time, and
    /// partitions are asked side by side. A store that is reached by a network says true.
    pub may_lose_answers: bool,
    /// Clock by which callers wait and measure how long they may rely on what they read.
    pub clock: &'a dyn Clock,
    /// Functions of the service besides its rows; `None` for a store that has none.
    pub service: Option<&'a dyn RemoteService>,
    /// What the handles of the store share, if no other process has it open.
    pub in_process: Option<&'a InProcess>,
}

impl Description<'_> {
    /// Returns the description of a store like the service, of this kind, with the [clock of the system](SystemClock).
    pub const fn new(system: &'static str) -> Self {
        let (reach, clock) = (Reach::Partition, &SystemClock);
        Self {
            system,
            reach,
            side_by_side: 16,
            overloads: 0,
            may_lose_answers: true,
            clock,
            service: None,
            in_process: None,
        }
    }
}

impl fmt::Debug for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description")
            .field("system", &self.system)
            .field("reach", &self.reach)
            .field("side_by_side", &self.side_by_side)
            .field("overloads", &self.overloads)
            .field("may_lose_answers", &self.may_lose_answers)
            .finish_non_exhaustive()
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

/// A view of a store that only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreView {
    /// The store as it is now. Its reads see no later write, and writes to it are errors. The service has no snapshots.
    Snapshot,
    /// The store, or a copy of it, such as that in another region, if the store does not answer. What is read may be out of
    /// date. `Tables::with_secondary_reads` uses it for queries, and for nothing
    /// that a write, a job or the catalog relies on.
    SecondaryReads,
}

/// A request for the tables of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRequest<'a> {
    /// Creates the table.
    Create(&'a str),
    /// Deletes the table with its rows.
    Delete(&'a str),
    /// Lists the tables whose names begin with this prefix.
    List(&'a str),
}

impl TableRequest<'_> {
    /// Returns the operation's name in errors and traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create(_) => "create table",
            Self::Delete(_) => "delete table",
            Self::List(_) => "list tables",
        }
    }
}

/// A request for rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadRequest<'a> {
    /// Rows to read.
    pub target: ReadTarget<'a>,
    /// Party that detects damage.
    pub checks: Checks,
}

/// The rows that a [`ReadRequest`] asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadTarget<'a> {
    /// The row with these keys, if it exists.
    Row {
        /// The table.
        table: &'a str,
        /// The partition key.
        partition_key: &'a str,
        /// The row key.
        row_key: &'a str,
        /// Properties to return besides the keys; `None` for all of them.
        select: Option<&'a [&'static str]>,
    },
    /// One page of a scan.
    Page {
        /// The scan.
        scan: &'a Scan,
        /// The continuation of the page before; `None` for the first page.
        from: Option<&'a Continuation>,
    },
}

impl<'a> ReadTarget<'a> {
    /// Returns the table.
    pub fn table(&self) -> &'a str {
        match self {
            Self::Row { table, .. } => table,
            Self::Page { scan, .. } => &scan.table,
        }
    }

    /// Returns the operation's name in errors and traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Row { .. } => "get",
            Self::Page { .. } => "query",
        }
    }
}

/// The party that detects damage to the properties of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// The store, before it passes the row on. The row has the selected properties and no others.
    Store,
    /// The reader, as when it reads an entity. The row may have more properties than were selected, and their bytes may be
    /// unchecked. A store that checks its rows anyway need not distinguish this.
    Reader,
}

/// The answer to [`Backend::execute`].
pub type Written = Result<Vec<Option<ETag>>, FailedGroup>;

/// The failure of a transaction: nothing was written, unless the error is [`Error::OutcomeUnknown`].
#[derive(Debug)]
pub struct FailedGroup {
    /// Position of the group that the error concerns.
    pub group: usize,
    /// The error.
    pub error: Error,
}

/// The failure of a transaction whose first group, or only one, the error concerns.
impl From<Error> for FailedGroup {
    fn from(error: Error) -> Self {
        Self { group: 0, error }
    }
}

impl From<FailedGroup> for Error {
    fn from(failed: FailedGroup) -> Self {
        failed.error
    }
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

impl Scan {
    /// Returns the scan of all rows of a table, with all of their properties.
    #[doc(hidden)]
    pub fn all(table: impl Into<Cow<'static, str>>) -> Self {
        let (partitions, rows, page) = (Partitions::ALL, KeyRange::ALL, limits::PAGE);
        Self { table: table.into(), partitions, rows, filter: None, select: None, page }
    }
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Continuation {
    /// The embedded store: the last row's partition key. The service: `NextPartitionKey`; empty if it is absent.
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
    /// Returns the group of a transaction, for a store whose transactions span one partition.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] if there is not exactly one.
    pub fn only(groups: &[Self]) -> Result<&Self> {
        if let [group] = groups {
            return Ok(group);
        }
        let table = groups.first().map_or_else(String::new, |group| group.table.to_string());
        let (what, found) = ("the transaction has".to_owned(), format!("{} partitions", groups.len()));
        Err(Box::new(LimitError { table, row: None, what, found, limit: "one partition of one table" }).into())
    }

    /// Checks the keys, the operations and the size of the request.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] for the first limit of the service that the group exceeds.
    pub fn check(&self) -> Result<()> {
        check::group(self)
    }

    /// Checks the same without the rows, which are known to differ: the keys of the partition, the number of operations and
    /// the size of the request.
    #[doc(hidden)]
    pub fn check_size(&self) -> Result<()> {
        check::size(self)
    }

    /// Checks the row of one of the group's operations.
    #[doc(hidden)]
    pub fn check_row(&self, operation: &Operation) -> Result<()> {
        check::row(self, operation)
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

/// A shared backend.
#[diagnostic::do_not_recommend]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn describe(&self) -> Description<'_> {
        (**self).describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        (**self).tables(request)
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        (**self).read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        (**self).execute(groups)
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        (**self).view(view)
    }
}
