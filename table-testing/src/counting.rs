//! A backend that counts its requests.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use table_store::{
    Result,
    backend::{
        Backend, BoxFuture, Continuation, Description, Group, ReadRequest, ReadTarget, Reader, StoreView, TableRequest,
        Written,
    },
};

/// A backend that counts the requests to another one.
#[derive(Debug)]
pub struct Counting<B> {
    inner: B,
    requests: Requests,
}

/// The handle of a [`Counting`] backend. Its clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Requests(Arc<Mutex<Counts>>);

/// Number of requests of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads of one row.
    pub gets: usize,
    /// Pages of scans.
    pub queries: usize,
    /// Writes: a transaction is one.
    pub executes: usize,
    /// Operations of the writes.
    pub operations: usize,
    /// Requests to create, delete or list tables.
    pub tables: usize,
}

impl Counts {
    /// Returns the number of requests of all kinds.
    pub const fn total(self) -> usize {
        self.gets + self.queries + self.executes + self.tables
    }
}

impl Requests {
    /// Returns the number of requests since the last [`take`](Self::take).
    pub fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Returns the number of requests since the last call, and begins to count anew.
    pub fn take(&self) -> Counts {
        mem::take(&mut *self.lock())
    }

    fn count_write(&self, groups: &[Group]) {
        let mut counts = self.lock();
        counts.executes += 1;
        counts.operations += groups.iter().map(|group| group.operations.len()).sum::<usize>();
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> Counting<B> {
    /// Returns a backend that counts the requests to `inner`, with its handle.
    pub fn new(inner: B) -> (Self, Requests) {
        let requests = Requests::default();
        (Self { inner, requests: requests.clone() }, requests)
    }
}

impl<B: Backend> Backend for Counting<B> {
    fn describe(&self) -> Description<'_> {
        self.inner.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        self.requests.lock().tables += 1;
        self.inner.tables(request)
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        match request.target {
            ReadTarget::Row { .. } => self.requests.lock().gets += 1,
            ReadTarget::Page { .. } => self.requests.lock().queries += 1,
        }
        self.inner.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        self.requests.count_write(groups);
        self.inner.execute(groups)
    }

    fn view(&self, view: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        let requests = self.requests.clone();
        Ok(self.inner.view(view)?.map(|inner| Arc::new(Counting { inner, requests }) as _))
    }
}
