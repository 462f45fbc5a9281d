//! The narrow trait behind which the stores stand: rows and scans, no entities.
//!
//! A backend is given checked input only: [`Tables`](crate::Tables) checks keys, rows, groups and scans against the
//! service's limits first, alike for every backend.

use std::{borrow::Cow, fmt, future::Future, ops::Bound, pin::Pin, sync::Arc, time::Duration};

use backon::{FuturesTimerSleeper, Sleeper};

pub use crate::key::KeyRange;
use crate::{Condition, ETag, Properties, Result, Row, RowRef, RowSet, ValueRef};

#[cfg(feature = "azure")]
mod azure;
mod check;
#[cfg(feature = "embedded")]
mod embedded;

#[cfg(feature = "azure")]
pub use azure::{AzureBackend, AzureBuilder};
#[cfg(feature = "embedded")]
pub use embedded::{EmbeddedBackend, InMemoryBackend};

/// A boxed future, as a trait object's methods give it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a row is lent to. An error ends the read, and is what it gives.
pub type Reader<'a> = &'a mut (dyn FnMut(RowRef<'_>) -> Result<()> + Send);

/// A key-ordered table store.
///
/// Rows stand in the order of their partition keys, then their row keys, by UTF-16 unit.
///
/// # Errors
/// Of writes: [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), with the row unread, if the write may have been
/// applied though its answer was lost. Any other error says that nothing was written.
pub trait Backend: fmt::Debug + Send + Sync + 'static {
    /// Makes the table, and says whether it was not there before.
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// Deletes the table with its rows, and says whether it was there.
    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// The names of the tables that begin with `prefix`, in order.
    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;

    /// The row at these keys. With `select`, of its own properties only those.
    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>>;

    /// One page of a scan: from its beginning, or on from where the page before said. A page may be empty and still
    /// say where to go on.
    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>>;

    /// As [`get`](Self::get), but lends the row to `read` where it stands, and says whether there is one. A store that
    /// has its rows at hand need not copy them.
    ///
    /// The bytes of the properties may be unchecked: `read` has to find damage, as reading an entity does.
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

    /// As [`query`](Self::query), but lends the page's rows to `read`, as [`get_with`](Self::get_with) does, and says
    /// where to go on.
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

    /// Carries out the operations, all or none, and gives each row's new ETag, `None` where it was deleted.
    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>>;

    /// Waits before an operation is tried again at which another writer was faster. A backend for tests, whose clock is
    /// not the machine's, waits by its own.
    fn pause(&self, delay: Duration) -> BoxFuture<'_, ()> {
        Box::pin(FuturesTimerSleeper.sleep(delay))
    }
}

/// A read of rows in key order.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The table.
    pub table: Cow<'static, str>,
    /// Which partitions.
    pub partitions: Partitions,
    /// Which row keys, in each of the partitions.
    pub rows: KeyRange,
    /// A condition on the properties.
    pub filter: Option<Condition>,
    /// The properties that are wanted, beside the keys; `None` for all of them.
    pub select: Option<Cow<'static, [&'static str]>>,
    /// The most rows that a page may have: 1 to 1000.
    pub page: u32,
}

/// Which partitions a scan reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// One.
    One(String),
    /// Those after this one.
    After(String),
    /// All of them.
    All,
}

/// Where a scan goes on. Opaque to all but the backend that gave it.
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
    /// The rows, in key order; perhaps none.
    pub rows: RowSet,
    /// Where to go on; `None` at the end.
    pub next: Option<Continuation>,
}

/// Writes to rows of one partition, all or none: an entity group transaction, or one write.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The table.
    pub table: Cow<'static, str>,
    /// The partition key.
    pub partition_key: String,
    /// 1 to 100 operations, each on another row. One alone is sent as a plain request.
    pub operations: Vec<Operation>,
}

/// One write of a [`Group`].
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The row key.
    pub row_key: String,
    /// What to do.
    pub action: Action,
}

/// What an [`Operation`] does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Writes a new row; an existing one is [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    Insert(Properties),
    /// Writes the row, new or in place of an existing one.
    Upsert(Properties),
    /// Replaces an existing row; none is [`Error::NotFound`](crate::Error::NotFound).
    Replace(Properties, IfMatch),
    /// Sets these properties of an existing row and keeps its others; none is [`Error::NotFound`](crate::Error::NotFound).
    Merge(Properties, IfMatch),
    /// Deletes an existing row; none is [`Error::NotFound`](crate::Error::NotFound).
    Delete(IfMatch),
}

impl Action {
    /// The operation's name in errors and traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::Upsert(_) => "upsert",
            Self::Replace(..) => "update",
            Self::Merge(..) => "patch",
            Self::Delete(_) => "delete",
        }
    }

    /// The properties that it writes.
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

/// The condition of a write to an existing row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// Whatever its version (`*`).
    Any,
    /// This version; another is [`Error::ConditionNotMet`](crate::Error::ConditionNotMet).
    ETag(ETag),
}

impl Group {
    /// Checks the keys, the operations and the size of the request.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit) for the first limit of the service that the group exceeds.
    pub fn check(&self) -> Result<()> {
        check::group(self)
    }

    /// The operation's name in errors and traces: that of the one operation, or `transaction`.
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
    /// [`Error::Limit`](crate::Error::Limit) for the first limit of the service that the scan exceeds.
    pub fn check(&self) -> Result<()> {
        check::scan(self)
    }

    /// The comparisons that the keys and the filter need.
    pub fn comparisons(&self) -> usize {
        let bounds = [&self.rows.from, &self.rows.to].into_iter().filter(|bound| **bound != Bound::Unbounded).count();
        usize::from(self.partitions != Partitions::All)
            + bounds
            + self.filter.as_ref().map_or(0, Condition::comparisons)
    }

    /// The OData filter of the whole scan, such as `PartitionKey eq 'Marcus' and RowKey ge '25'`; empty for all rows.
    pub fn odata(&self) -> String {
        let mut terms = Vec::new();
        let mut term =
            |name: &str, operator: &str, key: &str| terms.push(format!("{name} {operator} {}", ValueRef::String(key)));
        match &self.partitions {
            Partitions::One(key) => term("PartitionKey", "eq", key),
            Partitions::After(key) => term("PartitionKey", "gt", key),
            Partitions::All => {}
        }
        match (&self.rows.from, &self.rows.to) {
            (Bound::Included(from), Bound::Included(to)) if from == to => term("RowKey", "eq", from),
            (from, to) => {
                match from {
                    Bound::Included(key) => term("RowKey", "ge", key),
                    Bound::Excluded(key) => term("RowKey", "gt", key),
                    Bound::Unbounded => {}
                }
                match to {
                    Bound::Included(key) => term("RowKey", "le", key),
                    Bound::Excluded(key) => term("RowKey", "lt", key),
                    Bound::Unbounded => {}
                }
            }
        }
        match &self.filter {
            Some(condition) if terms.is_empty() => return condition.to_string(),
            Some(condition) => terms.push(format!("({condition})")),
            None => {}
        }
        terms.join(" and ")
    }
}

/// A backend that is shared.
impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        (**self).create_table(table)
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        (**self).delete_table(table)
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        (**self).list_tables(prefix)
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        (**self).get(table, partition_key, row_key, select)
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        (**self).query(scan, from)
    }

    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        (**self).get_with(table, partition_key, row_key, select, read)
    }

    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        (**self).query_with(scan, from, read)
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        (**self).execute(group)
    }
}
