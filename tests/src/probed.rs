//! A backend that counts its requests and can lose the answers of writes.

use std::sync::{
    Arc,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

use table_runtime::{
    ETag, Error, OutcomeUnknownError, Result, Row, RowId,
    backend::{Backend, BoxFuture, Continuation, Group, Page, Scan},
};

use crate::isolated::Isolated;

/// A backend that counts its requests and loses the answer of a write when it is told to.
#[derive(Debug)]
pub struct Probed {
    inner: Isolated,
    probe: Probe,
}

/// What a test asks of a [`Probed`] backend, from outside.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<State>);

#[derive(Debug, Default)]
struct State {
    requests: AtomicUsize,
    next_write: AtomicU8,
}

const APPLIED: u8 = 1;
const NOT_APPLIED: u8 = 2;

impl Probe {
    /// How many requests there were since this was asked last.
    pub fn requests(&self) -> usize {
        self.0.requests.swap(0, Ordering::Relaxed)
    }

    /// The next write is applied, and its answer lost.
    pub fn apply_and_lose(&self) {
        self.0.next_write.store(APPLIED, Ordering::Relaxed);
    }

    /// The next write is lost on its way.
    pub fn lose(&self) {
        self.0.next_write.store(NOT_APPLIED, Ordering::Relaxed);
    }
}

impl Probed {
    /// Stands before `inner`.
    pub fn new(inner: Isolated) -> (Self, Probe) {
        let probe = Probe::default();
        (Self { inner, probe: probe.clone() }, probe)
    }

    fn inner(&self) -> &Isolated {
        self.probe.0.requests.fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

fn lost(group: &Group) -> Error {
    let row = RowId {
        table: group.table.to_string(),
        partition_key: group.partition_key.clone(),
        row_key: group.operations.first().map(|operation| operation.row_key.clone()).unwrap_or_default(),
    };
    Box::new(OutcomeUnknownError::new(group.name(), row, "the test lost it")).into()
}

impl Backend for Probed {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.inner().create_table(table)
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.inner().delete_table(table)
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        self.inner().list_tables(prefix)
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        self.inner().get(table, partition_key, row_key, select)
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        self.inner().query(scan, from)
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            match self.probe.0.next_write.swap(0, Ordering::Relaxed) {
                APPLIED => {
                    self.inner().execute(group).await?;
                    Err(lost(group))
                }
                NOT_APPLIED => Err(lost(group)),
                _ => self.inner().execute(group).await,
            }
        })
    }
}
