//! A backend that counts its requests.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    ETag, Result, Row,
    backend::{Backend, BoxFuture, Continuation, FailedGroup, Group, Page, Reach, Reader, Scan, forward_requests},
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
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.requests.lock().tables += 1;
        self.inner.create_table(table)
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.requests.lock().tables += 1;
        self.inner.delete_table(table)
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        self.requests.lock().tables += 1;
        self.inner.list_tables(prefix)
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        self.requests.lock().gets += 1;
        self.inner.get(table, partition_key, row_key, select)
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        self.requests.lock().queries += 1;
        self.inner.query(scan, from)
    }

    fn get_with<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<bool>> {
        self.requests.lock().gets += 1;
        self.inner.get_with(table, partition_key, row_key, select, read)
    }

    fn query_with<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
        read: Reader<'a>,
    ) -> BoxFuture<'a, Result<Option<Continuation>>> {
        self.requests.lock().queries += 1;
        self.inner.query_with(scan, from, read)
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        self.requests.count_write(std::slice::from_ref(group));
        self.inner.execute(group)
    }

    fn reach(&self) -> Reach {
        self.inner.reach()
    }

    fn execute_all<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Result<Vec<Option<ETag>>, FailedGroup>> {
        self.requests.count_write(groups);
        self.inner.execute_all(groups)
    }

    fn snapshot(&self) -> Result<Option<Arc<dyn Backend>>> {
        let requests = self.requests.clone();
        Ok(self.inner.snapshot()?.map(|inner| -> Arc<dyn Backend> { Arc::new(Counting { inner, requests }) }))
    }

    fn secondary_reads(&self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(Counting { inner: self.inner.secondary_reads()?, requests: self.requests.clone() }))
    }

    fn side_by_side(&self) -> usize {
        self.inner.side_by_side()
    }

    forward_requests!(this => this.inner; time);
}
