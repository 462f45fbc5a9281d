//! A backend that fails at one request, and what runs a program once for each request that can fail.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::Context;
use table_runtime::{
    ETag, Error, OutcomeUnknownError, Result, Row, RowId, Tables,
    backend::{Backend, BoxFuture, Continuation, Group, Page, Scan},
};

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not applied, and the program is told so.
    Refused,
    /// It is applied, or refused as it would be, and the answer is lost.
    AnswerLost,
    /// It is lost on its way; a write's writer cannot tell that from [`AnswerLost`](Self::AnswerLost).
    RequestLost,
    /// It is not applied, and no later one gets through, as if the program had died before it.
    GoneBefore,
    /// It is applied, its answer lost, and no later one gets through, as if the program had died after it.
    GoneAfter,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Refused, Self::AnswerLost, Self::RequestLost, Self::GoneBefore, Self::GoneAfter];

    const fn applies(self) -> bool {
        matches!(self, Self::AnswerLost | Self::GoneAfter)
    }

    const fn lasts(self) -> bool {
        matches!(self, Self::GoneBefore | Self::GoneAfter)
    }

    /// Whether the writer is left in doubt.
    const fn is_doubtful(self) -> bool {
        matches!(self, Self::AnswerLost | Self::RequestLost | Self::GoneAfter)
    }
}

/// A backend that fails when it is told to.
#[derive(Debug)]
pub struct Faulty<B> {
    inner: B,
    faults: Faults,
}

/// What a test tells a [`Faulty`] backend, from outside.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The fault, and how many requests go well before it.
    armed: Option<(Fault, usize)>,
    requests: usize,
    /// The request that the fault met.
    hit: Option<String>,
}

impl Faults {
    /// The request of number `n`, counted from 0 as of now, fails.
    pub fn arm(&self, fault: Fault, n: usize) {
        *self.lock() = State { armed: Some((fault, n)), ..State::default() };
    }

    /// Nothing fails from now on.
    pub fn disarm(&self) {
        *self.lock() = State::default();
    }

    /// The request that failed first, if there was one since this was armed.
    pub fn hit(&self) -> Option<String> {
        self.lock().hit.clone()
    }

    /// How many requests there were since this was armed, failed ones included.
    pub fn requests(&self) -> usize {
        self.lock().requests
    }

    /// Counts a request. If it is to fail, how, and whether it is the first.
    fn next(&self, request: &dyn fmt::Display) -> Option<(Fault, bool)> {
        let mut state = self.lock();
        let n = state.requests;
        state.requests += 1;
        let (fault, at) = state.armed?;
        let first = n == at;
        if first {
            state.hit = Some(request.to_string());
        }
        (first || fault.lasts() && n > at).then_some((fault, first))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> Faulty<B> {
    /// Stands before `inner`; nothing fails yet.
    pub fn new(inner: B) -> (Self, Faults) {
        let faults = Faults::default();
        (Self { inner, faults: faults.clone() }, faults)
    }

    /// A request whose loss says nothing of a write.
    async fn ask<T>(&self, table: &str, operation: &'static str, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let Some((fault, first)) = self.faults.next(&format_args!("{operation} of {table}")) else {
            return answer.await;
        };
        if first && fault.applies() {
            // A refusal is an answer too, and lost with it.
            let _ = answer.await;
        }
        Err(no_answer(table, operation))
    }
}

fn no_answer(table: &str, operation: &'static str) -> Error {
    Error::NoAnswer { table: table.to_owned(), operation, reason: "the test let it fail".to_owned() }
}

fn row(group: &Group) -> RowId {
    RowId {
        table: group.table.to_string(),
        partition_key: group.partition_key.clone(),
        row_key: group.operations.first().map(|operation| operation.row_key.clone()).unwrap_or_default(),
    }
}

impl<B: Backend> Backend for Faulty<B> {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.ask(table, "create table", self.inner.create_table(table)))
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.ask(table, "delete table", self.inner.delete_table(table)))
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(self.ask("Tables", "list tables", self.inner.list_tables(prefix)))
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, Result<Option<Row>>> {
        Box::pin(self.ask(table, "get", self.inner.get(table, partition_key, row_key, select)))
    }

    fn query<'a>(&'a self, scan: &'a Scan, from: Option<&'a Continuation>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(self.ask(&scan.table, "query", self.inner.query(scan, from)))
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            let request = format!("{} of {}", group.name(), row(group));
            let Some((fault, first)) = self.faults.next(&request) else { return self.inner.execute(group).await };
            if first && fault.applies() {
                let _ = self.inner.execute(group).await;
            }
            if first && fault.is_doubtful() {
                return Err(Box::new(OutcomeUnknownError::new(group.name(), row(group), "the test lost it")).into());
            }
            Err(no_answer(&group.table, group.name()))
        })
    }
}

/// A program's run, at one request of which the store failed.
#[derive(Debug)]
pub struct Run<B, T> {
    /// How the store failed; `None` in the last run of each way, which ended before the request that would have failed.
    pub fault: Option<Fault>,
    /// What the program gave.
    pub result: T,
    /// The store, below the faults.
    pub store: B,
    /// The store below the faults, as users have it.
    pub tables: Tables,
}

/// Runs the program on a new store with a fault at its first request, then with one at its second, and so on until a
/// run meets none, for each way to fail; checks each run, and gives how many requests failed.
///
/// The store's clones share its contents, as those of [`Plain`](crate::plain::Plain) and
/// [`Isolated`](crate::isolated::Isolated) do.
///
/// # Errors
/// What `make_store` and `check` say, with the request and how it failed.
pub async fn for_each_fault<B: Backend + Clone, T>(
    make_store: impl AsyncFn() -> anyhow::Result<B>,
    program: impl AsyncFn(Tables) -> T,
    check: impl AsyncFn(Run<B, T>) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let mut failed = 0;
    for fault in Fault::ALL {
        for n in 0.. {
            let store = make_store().await?;
            let (backend, faults) = Faulty::new(store.clone());
            faults.arm(fault, n);
            let result = program(Tables::new(backend)).await;
            let hit = faults.hit();
            let tables = Tables::new(store.clone());
            let run = Run { fault: hit.as_ref().map(|_| fault), result, store, tables };
            let checked = check(run).await;
            let Some(request) = hit else {
                checked.context("without a fault")?;
                break;
            };
            checked.with_context(|| format!("{fault:?} at request {n}, {request}"))?;
            failed += 1;
        }
    }
    Ok(failed)
}
