//! Requests and answers of a backend, as values.

use std::{fmt, time::Duration};

use table_store::{
    ETag, Error, Result, Row, RowId,
    backend::{Backend, BackendExt, Continuation, FailedGroup, Group, Page, ReadTarget, Scan, Sleep, TableRequest},
};

/// A request to a [`Backend`].
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// [`TableRequest::Create`].
    CreateTable(String),
    /// [`TableRequest::Delete`].
    DeleteTable(String),
    /// [`TableRequest::List`], with the prefix.
    ListTables(String),
    /// A read of [`ReadTarget::Row`].
    Get {
        /// The table.
        table: String,
        /// The partition key.
        partition_key: String,
        /// The row key.
        row_key: String,
        /// The properties that are wanted; `None` for all of them.
        select: Option<Vec<&'static str>>,
    },
    /// A read of [`ReadTarget::Page`].
    Query {
        /// The scan.
        scan: Scan,
        /// The continuation of the page before; `None` for the first page.
        from: Option<Continuation>,
    },
    /// [`Backend::execute`].
    Execute(Vec<Group>),
    /// [`Clock::sleep`](table_store::backend::Clock::sleep) for the [whole time](Sleep::Whole), with the time of the backend's
    /// clock at which it ends.
    Sleep(Duration),
}

impl Request {
    pub(super) fn tables(request: TableRequest<'_>) -> Self {
        match request {
            TableRequest::Create(table) => Self::CreateTable(table.to_owned()),
            TableRequest::Delete(table) => Self::DeleteTable(table.to_owned()),
            TableRequest::List(prefix) => Self::ListTables(prefix.to_owned()),
        }
    }

    pub(super) fn read(target: ReadTarget<'_>) -> Self {
        match target {
            ReadTarget::Row { table, partition_key, row_key, select } => Self::Get {
                table: table.to_owned(),
                partition_key: partition_key.to_owned(),
                row_key: row_key.to_owned(),
                select: select.map(<[_]>::to_vec),
            },
            ReadTarget::Page { scan, from } => Self::Query { scan: scan.clone(), from: from.cloned() },
        }
    }

    /// Checks whether the request writes rows.
    pub const fn is_write(&self) -> bool {
        matches!(self, Self::Execute(_))
    }

    /// Sends the request and passes the answer to `observer`.
    ///
    /// A test sends in this way what a task has dropped (see [`Schedule::grant`](super::Schedule::grant)); a test that
    /// does not look at the answer passes `&()`.
    pub async fn send<B: Backend + ?Sized, O: Observer<B>>(&self, backend: &B, observer: &O) {
        let tables = async |request| self.observe(backend, observer, &backend.tables(request).await);
        match self {
            Self::CreateTable(table) => tables(TableRequest::Create(table)).await,
            Self::DeleteTable(table) => tables(TableRequest::Delete(table)).await,
            Self::ListTables(prefix) => tables(TableRequest::List(prefix)).await,
            Self::Get { table, partition_key, row_key, select } => {
                let answer = backend.get(table, partition_key, row_key, select.as_deref()).await;
                self.observe(backend, observer, &answer);
            }
            Self::Query { scan, from } => self.observe(backend, observer, &backend.query(scan, from.as_ref()).await),
            Self::Execute(groups) => self.observe(backend, observer, &backend.execute(groups).await),
            Self::Sleep(until) => {
                let clock = backend.describe().clock;
                clock.sleep(until.saturating_sub(clock.monotonic()), Sleep::Whole).await;
                self.observe::<_, _, Error>(backend, observer, &Ok(()));
            }
        }
    }

    /// Passes the answer to `observer`.
    pub(super) fn observe<B: ?Sized, O: Observer<B>, E: FailedAnswer>(
        &self,
        backend: &B,
        observer: &O,
        answer: &Result<impl Reply, E>,
    ) {
        observer.answered(backend, self, answer.as_ref().map(Reply::as_answer).map_err(FailedAnswer::error));
    }
}

/// Such as `get of Posts(PartitionKey='Marcus',RowKey='1')` or `query of Posts (PartitionKey eq 'Marcus')`; of a
/// transaction, the first row.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateTable(table) => write!(f, "create table {table}"),
            Self::DeleteTable(table) => write!(f, "delete table {table}"),
            Self::ListTables(prefix) => write!(f, "list tables {prefix}"),
            Self::Get { table, partition_key, row_key, .. } => {
                let (table, partition_key, row_key) = (table.clone(), partition_key.clone(), row_key.clone());
                write!(f, "get of {}", RowId { table, partition_key, row_key })
            }
            Self::Query { scan, from } => {
                write!(f, "query of {}", scan.table)?;
                let filter = scan.odata();
                if !filter.is_empty() {
                    write!(f, " ({filter})")?;
                }
                f.write_str(if from.is_some() { ", a later page" } else { "" })
            }
            Self::Execute(groups) => write!(f, "{} of {}", name(groups), first_row(groups)),
            Self::Sleep(until) => write!(f, "sleep until {until:?}"),
        }
    }
}

/// Returns the name of a transaction in errors and traces.
pub(super) fn name(groups: &[Group]) -> &'static str {
    match groups {
        [group] => group.name(),
        _ => "transaction",
    }
}

/// Returns the first row of a transaction.
pub(super) fn first_row(groups: &[Group]) -> RowId {
    let first = groups.first();
    let operation = first.and_then(|group| group.operations.first());
    RowId {
        table: first.map(|group| group.table.to_string()).unwrap_or_default(),
        partition_key: first.map(|group| group.partition_key.clone()).unwrap_or_default(),
        row_key: operation.map(|operation| operation.row_key.clone()).unwrap_or_default(),
    }
}

/// A backend's answer to a [`Request`], by reference.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The names of the tables that were created, deleted or found.
    Tables(&'a [String]),
    /// The row of a [`Request::Get`].
    Row(Option<&'a Row>),
    /// The page of a [`Request::Query`].
    Page(&'a Page),
    /// The new ETag of each row that was written; `None` where it was deleted.
    ETags(&'a [Option<ETag>]),
    /// The end of a [`Request::Sleep`].
    Awake,
}

/// A recorder of requests and their answers.
///
/// `()` records nothing.
pub trait Observer<B: ?Sized> {
    /// Records a request that the backend has answered.
    fn answered(&self, backend: &B, request: &Request, answer: Result<Answer<'_>, &Error>);

    /// Records that the task has read the backend's [clock](table_store::backend::Clock::monotonic), which showed this time. A reading takes no
    /// request and does not wait.
    fn read_clock(&self, _time: Duration) {}
}

impl<B: ?Sized> Observer<B> for () {
    fn answered(&self, _: &B, _: &Request, _: Result<Answer<'_>, &Error>) {}
}

/// The type of a successful answer.
pub(super) trait Reply {
    /// The answer by reference.
    fn as_answer(&self) -> Answer<'_>;
}

impl Reply for () {
    fn as_answer(&self) -> Answer<'_> {
        Answer::Awake
    }
}

impl Reply for Vec<String> {
    fn as_answer(&self) -> Answer<'_> {
        Answer::Tables(self)
    }
}

impl Reply for Option<Row> {
    fn as_answer(&self) -> Answer<'_> {
        Answer::Row(self.as_ref())
    }
}

impl Reply for Page {
    fn as_answer(&self) -> Answer<'_> {
        Answer::Page(self)
    }
}

impl Reply for Vec<Option<ETag>> {
    fn as_answer(&self) -> Answer<'_> {
        Answer::ETags(self)
    }
}

/// The type of a failed answer.
pub(super) trait FailedAnswer {
    /// The error by reference.
    fn error(&self) -> &Error;
}

impl FailedAnswer for Error {
    fn error(&self) -> &Error {
        self
    }
}

impl FailedAnswer for FailedGroup {
    fn error(&self) -> &Error {
        &self.error
    }
}
