//! The client of a store, through which a handle sends all of its requests.

use std::{fmt, slice, sync::Arc, time::Duration};

use super::{prefix::Prefix, progress::ScanProgress};
use crate::{
    ETag, Result, RowRef, RowSet, Ticks,
    backend::{
        Backend, BackendExt, BoxFuture, Continuation, Description, Group, Reach, ReadRequest, ReadTarget, Reader, Scan,
        Sleep, StoreView, TableRequest, Written,
    },
    error::ServiceError,
    unstable::{limits, observe},
};

/// Problem of an answer with a continuation that the scan has sent before.
pub const TOKEN_REPEATED: &str = "its continuation token was sent before, so the scan would never end";

/// A store as a handle sees it: the tables whose names begin with the handle's prefix, by the rest of their names. Counts
/// the requests and the rows of the user's operation that sends them.
#[derive(Clone)]
pub struct Client {
    backend: Arc<dyn Backend>,
    prefix: Option<Prefix>,
    /// True if the requests count for the user's operation.
    is_counted: bool,
}

impl Client {
    /// Returns a client of this store.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, prefix: None, is_counted: true }
    }

    /// Returns a client of a backend that sends its requests through another client, which counts them.
    pub fn uncounted(backend: Arc<dyn Backend>) -> Self {
        Self { is_counted: false, ..Self::new(backend) }
    }

    /// Returns a client of the tables whose names begin with this client's prefix and then `prefix`.
    pub fn with_prefix(&self, prefix: &str) -> Self {
        let longer = self.prefix.as_ref().map_or_else(|| Prefix::new(prefix), |own| own.longer(prefix));
        Self { prefix: Some(longer), ..self.clone() }
    }

    /// Returns the whole name of a table, which it has in the store.
    ///
    /// # Errors
    /// Returns [`Error::Limit`](crate::Error::Limit) if no table can have the name.
    pub fn table_name(&self, table: &str) -> Result<String> {
        match &self.prefix {
            Some(prefix) => prefix.name(table),
            None => limits::check_table_name(table).map(|()| table.to_owned()),
        }
    }

    /// Executes all of the operations of one group or none, and returns each row's new ETag; `None` for a deleted row.
    pub async fn execute(&self, group: &Group) -> Result<Vec<Option<ETag>>> {
        Ok(Backend::execute(self, slice::from_ref(group)).await?)
    }

    /// Executes all of the operations of all groups or none, as [`Backend::execute`] does.
    pub async fn execute_all(&self, groups: &[Group]) -> Written {
        Backend::execute(self, groups).await
    }

    /// Calls `read` for each row of a scan, page by page.
    pub async fn read_all(&self, scan: &Scan, mut read: impl FnMut(RowRef<'_>) -> Result<()>) -> Result<()> {
        let mut progress = ScanProgress::default();
        while !progress.has_ended() {
            self.next_page(scan, &mut progress).await?.iter().try_for_each(&mut read)?;
        }
        Ok(())
    }

    /// Returns the next page of a scan, which may be empty.
    ///
    /// # Errors
    /// Returns the errors of the store, and those of [`advance`](Self::advance). The next call tries again.
    pub async fn next_page(&self, scan: &Scan, progress: &mut ScanProgress) -> Result<RowSet> {
        let page = self.query(scan, progress.next()).await?;
        self.advance(&scan.table, progress, page.next)?;
        Ok(page.rows)
    }

    /// Calls `reader` for each row of the next page of a scan, by reference, as [`query_with`](BackendExt::query_with) does.
    ///
    /// # Errors
    /// Returns the errors of [`next_page`](Self::next_page), also after `reader` was called for all rows.
    pub async fn next_page_with(&self, scan: &Scan, progress: &mut ScanProgress, reader: Reader<'_>) -> Result<()> {
        let next = self.query_with(scan, progress.next(), reader).await?;
        self.advance(&scan.table, progress, next)
    }

    /// Moves a scan of the table to the continuation that its page had.
    ///
    /// # Errors
    /// Returns [`Error::Service`](crate::Error::Service) if the service gave the scan a continuation that it has sent before:
    /// it would never end. The position stays.
    pub fn advance(&self, table: &str, progress: &mut ScanProgress, next: Option<Continuation>) -> Result<()> {
        if self.describe().service.is_none() {
            progress.follow(next);
        } else if !progress.advance(next) {
            let message = format!("the answer cannot be read: {TOKEN_REPEATED}");
            let error = ServiceError::new(table.to_owned(), "query", 200, String::new(), message, None);
            return Err(Box::new(error).into());
        }
        Ok(())
    }

    /// Returns the rows that one transaction can span.
    pub fn reach(&self) -> Reach {
        self.describe().reach
    }

    /// Returns the number of transactions with which a bulk write begins.
    pub fn side_by_side(&self) -> usize {
        self.describe().side_by_side
    }

    /// Checks whether the store is in this process, so that it answers each request, and at once.
    pub fn is_in_process(&self) -> bool {
        !self.describe().may_lose_answers
    }

    /// Returns the number of answers that showed an overload.
    pub fn overloads(&self) -> u64 {
        self.describe().overloads
    }

    /// Returns the time of the store's monotonic clock.
    pub fn clock(&self) -> Duration {
        self.describe().clock.monotonic()
    }

    /// Returns the date and the time of day by the store's clock, for a time that is stored.
    pub fn now(&self) -> Ticks {
        self.describe().clock.wall()
    }

    /// Returns the earliest time that it may be by the store's clock, for judging what has expired.
    pub fn earliest(&self) -> Ticks {
        self.describe().clock.earliest()
    }

    /// Waits before retrying an operation that lost a race to another writer.
    pub fn pause(&self, delay: Duration) -> BoxFuture<'_, ()> {
        observe::retry();
        self.describe().clock.sleep(delay, Sleep::Retry)
    }

    /// Waits until other handles do not rely any more on what they read before.
    pub fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.describe().clock.sleep(time, Sleep::Whole)
    }

    /// Waits for this time, after which the caller gives up a write that was not answered. Waits for ever if the store
    /// loses no answer.
    pub async fn deadline(&self, time: Duration) {
        if self.is_in_process() {
            std::future::pending::<()>().await;
        } else {
            self.describe().clock.sleep(time, Sleep::Answer).await;
        }
    }

    /// Returns the store as it is now; `None` if it has no snapshots.
    pub fn snapshot(&self) -> Result<Option<Arc<Self>>> {
        self.viewed(StoreView::Snapshot)
    }

    /// Returns a client whose reads a copy of the store answers if the store does not; `None` if there is no copy.
    pub fn secondary_reads(&self) -> Option<Arc<Self>> {
        self.viewed(StoreView::SecondaryReads).ok().flatten()
    }

    fn viewed(&self, view: StoreView) -> Result<Option<Arc<Self>>> {
        let viewed = |backend| Arc::new(Self { backend, prefix: self.prefix.clone(), is_counted: self.is_counted });
        Ok(self.backend.view(view)?.map(viewed))
    }

    fn count_request(&self) {
        if self.is_counted {
            observe::request();
        }
    }
}

/// Formats the store, and the prefix if there is one.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(prefix) = &self.prefix else { return self.backend.fmt(f) };
        f.debug_struct("Prefixed").field("prefix", prefix).field("inner", &self.backend).finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl Backend for Client {
    fn describe(&self) -> Description<'_> {
        self.backend.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        let Some(prefix) = &self.prefix else {
            self.count_request();
            return self.backend.tables(request);
        };
        Box::pin(async move {
            let name = match request {
                TableRequest::Create(table) | TableRequest::Delete(table) => prefix.name(table)?,
                TableRequest::List(beginning) => prefix.before(beginning)?,
            };
            self.count_request();
            let names = self.backend.tables(match request {
                TableRequest::Create(_) => TableRequest::Create(&name),
                TableRequest::Delete(_) => TableRequest::Delete(&name),
                TableRequest::List(_) => TableRequest::List(&name),
            });
            Ok(names.await?.iter().filter_map(|name| prefix.own_name(name)).collect())
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        let is_counted = self.is_counted && observe::counts();
        if self.prefix.is_none() && !is_counted {
            return self.backend.read(request, reader);
        }
        Box::pin(async move {
            let (name, scan);
            let target = match (&self.prefix, request.target) {
                (Some(prefix), ReadTarget::Row { table, partition_key, row_key, select }) => {
                    name = prefix.name(table)?;
                    ReadTarget::Row { table: &name, partition_key, row_key, select }
                }
                (Some(prefix), ReadTarget::Page { scan: own, from }) => {
                    scan = Scan { table: prefix.name(&own.table)?.into(), ..own.clone() };
                    ReadTarget::Page { scan: &scan, from }
                }
                (None, target) => target,
            };
            let request = ReadRequest { target, ..request };
            if !is_counted {
                return self.backend.read(request, reader).await;
            }
            observe::request();
            let mut rows = 0;
            let mut counted = |row: RowRef<'_>| {
                rows += 1;
                reader(row)
            };
            let next = self.backend.read(request, &mut counted).await;
            observe::read(rows);
            next
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        let Some(prefix) = &self.prefix else {
            self.count_request();
            return self.backend.execute(groups);
        };
        Box::pin(async move {
            let groups = prefix.groups(groups)?;
            self.count_request();
            self.backend.execute(&groups).await
        })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(self.viewed(view)?.map(|client| client as _))
    }
}
