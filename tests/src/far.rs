//! A store that is far away: each request takes a time, and an answer has few rows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use table_runtime::{
    Error, Result,
    backend::{
        Backend, BoxFuture, Continuation, Description, Group, ReadRequest, ReadTarget, Reader, Scan, StoreView,
        TableRequest, Written,
    },
    row::RowRef,
};
use tokio::sync::Notify;

/// Time that a request takes, unless the store has another one.
pub const DELAY: Duration = Duration::from_millis(50);

/// A backend whose requests take time, and are counted.
#[derive(Clone, Debug)]
pub struct Far {
    inner: Arc<dyn Backend>,
    requests: Arc<AtomicUsize>,
    /// Time that a request takes.
    delay: Duration,
    /// Largest number of rows of a page.
    page: u32,
    /// True if no two answers in turn take the same time.
    is_uneven: bool,
    /// The number of the request from which on none is answered.
    end: usize,
    /// The number of the one request that fails.
    refused: Option<usize>,
    ended: Arc<Notify>,
}

impl Far {
    /// Puts a store far away.
    pub fn new(inner: impl Backend) -> Self {
        let (requests, ended) = (Arc::default(), Arc::default());
        let (inner, delay) = (Arc::new(inner), DELAY);
        Self { inner, requests, delay, page: 1000, is_uneven: false, end: usize::MAX, refused: None, ended }
    }

    /// Answers each request after this time.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Limits the rows of a page, and gives answers different times.
    #[must_use]
    pub fn with_pages(self, page: u32) -> Self {
        Self { page, is_uneven: true, ..self }
    }

    /// Answers no request from this one on.
    #[must_use]
    pub fn until(self, end: usize) -> Self {
        Self { end, ..self }
    }

    /// Answers this request with an error, and does not carry it out.
    #[must_use]
    pub fn refusing(self, number: usize) -> Self {
        Self { refused: Some(number), ..self }
    }

    /// Returns the number of requests since the last call.
    pub fn requests(&self) -> usize {
        self.requests.swap(0, Ordering::Relaxed)
    }

    /// Waits until a request is not answered.
    pub async fn ended(&self) {
        self.ended.notified().await;
    }

    async fn travel(&self) -> Result<()> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        if number >= self.end {
            self.ended.notify_one();
            std::future::pending::<()>().await;
        }
        let uneven = if self.is_uneven { 1 + number as u64 * 7 % 31 } else { 0 };
        tokio::time::sleep(self.delay + Duration::from_millis(uneven)).await;
        if self.refused == Some(number) {
            let reason = "the test made it fail".to_owned();
            return Err(Error::NoAnswer { table: String::new(), operation: "request", reason, request: None });
        }
        Ok(())
    }
}

impl Backend for Far {
    fn describe(&self) -> Description<'_> {
        self.inner.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            self.travel().await?;
            self.inner.tables(request).await
        })
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        Box::pin(async move {
            self.travel().await?;
            let ReadTarget::Page { scan, from } = request.target else { return self.inner.read(request, reader).await };
            // As on the service, a page ends after so many rows, whether the filter holds for them or not.
            let (filter, page) = (scan.filter.as_ref(), scan.page.min(self.page));
            let scan =
                Scan { page, filter: None, select: scan.select.clone().filter(|_| filter.is_none()), ..scan.clone() };
            let reader: Reader<'_> = &mut |row: RowRef<'_>| {
                if filter.is_none_or(|filter| filter.holds(row.properties)) { reader(row) } else { Ok(()) }
            };
            self.inner.read(ReadRequest { target: ReadTarget::Page { scan: &scan, from }, ..request }, reader).await
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            self.travel().await?;
            self.inner.execute(groups).await
        })
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        self.inner.view(view)
    }
}
