//! A backend that sends the requests of many writes in few transactions.
//!
//! Bulk writes of entities with index rows in other partitions run the steps of each entity by itself, many entities at
//! the same time. Their requests meet here. Those for one partition that wait at the same time become one transaction,
//! or one query. So each entity keeps its own order of steps, and an entity is committed only after its index rows were
//! written.
//!
//! A transaction that succeeds equals its requests, executed one after another. If one of its requests fails, nothing
//! was applied, and the others are sent again without it.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::Hash,
    mem,
    sync::{Arc, Mutex},
};

use futures_channel::oneshot;
use futures_util::{StreamExt, stream};
use table_store::{
    ETag, Error, Result, Row, RowId,
    backend::{
        Backend, BackendExt, BoxFuture, Continuation, Description, Group, Operation, Reach, ReadRequest, ReadTarget,
        Reader, StoreView, TableRequest, Written,
    },
    error::OutcomeUnknownError,
    unstable::{client::Client, limits},
};

use super::load::{LINES, TRANSACTION_BYTES};
use crate::{
    client::{pacing, tables::lock},
    read::several::{Shown, several},
};

/// Minimum number of reads that are sent as a query.
const QUERY: usize = 8;
/// Maximum number of rows that such a query reads for each row that is wanted. More rows between them are not skipped
/// by a query.
const ROWS: usize = 4;

/// A backend whose writes, and whose reads of single rows, wait until they are [taken](Self::take) and sent.
pub(super) struct Batching {
    inner: Arc<Client>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    writes: Queue<(String, String), WaitingWrite>,
    reads: Queue<Wanted, WaitingRead>,
}

/// Requests by partition, in the order of their arrival.
struct Queue<K, T> {
    partitions: Vec<(K, Vec<T>)>,
    positions: HashMap<K, usize>,
}

/// A write, and the task that waits for its answer.
struct WaitingWrite {
    group: Group,
    answer: oneshot::Sender<Result<Vec<Option<ETag>>>>,
}

/// A read of a row, and the task that waits for its answer.
struct WaitingRead {
    row_key: String,
    answer: oneshot::Sender<Result<Option<Row>>>,
}

/// The partition of a read, and the properties that are wanted.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Wanted {
    table: String,
    partition_key: String,
    select: Option<Vec<&'static str>>,
}

impl<K, T> Default for Queue<K, T> {
    fn default() -> Self {
        Self { partitions: Vec::new(), positions: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash, T> Queue<K, T> {
    fn push(&mut self, partition: K, request: T) {
        let next = self.partitions.len();
        let at = *self.positions.entry(partition.clone()).or_insert(next);
        if at == next {
            self.partitions.push((partition, Vec::new()));
        }
        self.partitions[at].1.push(request);
    }
}

impl Batching {
    pub(super) fn new(inner: Arc<Client>) -> Self {
        Self { inner, waiting: Mutex::default() }
    }

    /// Returns the requests that wait, packed. Each future sends a transaction, a query or a read, and passes the answers
    /// on.
    pub(super) fn take(&self) -> Vec<BoxFuture<'static, ()>> {
        let Waiting { writes, reads } = mem::take(&mut *lock(&self.waiting));
        let mut sent: Vec<BoxFuture<'static, ()>> = Vec::new();
        for (_, writes) in writes.partitions {
            for transaction in packed(writes) {
                sent.push(Box::pin(write(Arc::clone(&self.inner), transaction)));
            }
        }
        for (wanted, reads) in reads.partitions {
            let backend = || Arc::clone(&self.inner);
            if reads.len() >= QUERY {
                sent.push(Box::pin(query(backend(), wanted, reads)));
            } else {
                let get = |read| Box::pin(get(backend(), wanted.clone(), read)) as BoxFuture<'static, ()>;
                sent.extend(reads.into_iter().map(get));
            }
        }
        sent
    }

    /// Adds a request to those that wait, and waits for its answer.
    async fn ask<T>(&self, add: impl FnOnce(&mut Waiting, oneshot::Sender<Result<T>>)) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        add(&mut lock(&self.waiting), answer);
        match answered.await {
            Ok(answer) => answer,
            // The bulk write that sends the requests is being dropped, together with this one.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Packs writes of one partition into transactions, each of which has one operation at most for each row.
fn packed(writes: Vec<WaitingWrite>) -> Vec<Vec<WaitingWrite>> {
    let mut transactions: Vec<Vec<WaitingWrite>> = Vec::new();
    let (mut rows, mut bytes) = (HashSet::new(), 0);
    for write in writes {
        let operations = &write.group.operations;
        let more: usize = operations.iter().map(estimated).sum();
        let fits = rows.len() + operations.len() <= limits::OPERATIONS
            && bytes + more <= TRANSACTION_BYTES
            && !operations.iter().any(|operation| rows.contains(&operation.row_key));
        if !fits || transactions.is_empty() {
            transactions.push(Vec::new());
            rows.clear();
            bytes = 0;
        }
        rows.extend(operations.iter().map(|operation| operation.row_key.clone()));
        bytes += more;
        if let Some(transaction) = transactions.last_mut() {
            transaction.push(write);
        }
    }
    transactions
}

/// Returns the approximate size of an operation in bytes, as it is sent.
fn estimated(operation: &Operation) -> usize {
    LINES + operation.action.properties().map_or(0, |properties| properties.as_bytes().len() * 2)
}

/// Sends writes of one partition in one transaction, without those that fail.
async fn write(backend: Arc<Client>, writes: Vec<WaitingWrite>) {
    let mut parts = vec![writes];
    let mut has_failed = false;
    while let Some(mut part) = parts.pop() {
        // A write that its task has given up must not arrive later.
        part.retain(|write| !write.answer.is_canceled());
        let Some(first) = part.first() else { continue };
        let group = Group {
            table: first.group.table.clone(),
            partition_key: first.group.partition_key.clone(),
            operations: part.iter().flat_map(|write| write.group.operations.iter().cloned()).collect(),
        };
        let error = match backend.execute_group(&group).await {
            Ok(etags) => {
                let mut etags = etags.into_iter();
                for WaitingWrite { group, answer } in part {
                    let _ = answer.send(Ok(etags.by_ref().take(group.operations.len()).collect()));
                }
                continue;
            }
            Err(error) => error,
        };
        let at = if part.len() == 1 { Some(0) } else { failed(&part, &error) };
        if let Some(at) = at {
            let _ = part.remove(at).answer.send(Err(error));
            // Others may fail as well. Halves find them with few requests.
            let rest = if mem::replace(&mut has_failed, true) { part.split_off(part.len() / 2) } else { Vec::new() };
            parts.extend([rest, part]);
        } else if let Some(errors) = part.iter().map(|write| repeated(&error, &write.group)).collect::<Option<Vec<_>>>()
        {
            for (write, error) in part.into_iter().zip(errors) {
                let _ = write.answer.send(Err(error));
            }
        } else {
            // The transaction is too large, or the error does not say which row it concerns.
            let rest = part.split_off(part.len() / 2);
            parts.extend([rest, part]);
        }
    }
}

/// Returns the position of the write whose row the error names.
fn failed(part: &[WaitingWrite], error: &Error) -> Option<usize> {
    let row: &RowId = match error {
        Error::AlreadyExists(row) | Error::NotFound(row) | Error::ConditionNotMet(row) => row,
        Error::Damaged { row, .. } => row,
        Error::Limit(limit) => limit.row.as_ref()?,
        _ => return None,
    };
    part.iter().position(|write| write.group.operations.iter().any(|operation| operation.row_key == row.row_key))
}

/// Returns the error of a transaction as the error of one of its writes, if it concerns them all.
fn repeated(error: &Error, group: &Group) -> Option<Error> {
    Some(match error {
        // Each writer finds out from its own row whether the transaction was applied.
        Error::OutcomeUnknown(error) => {
            let row_key = group.operations.first().map(|operation| operation.row_key.clone()).unwrap_or_default();
            let row = RowId { table: group.table.to_string(), partition_key: group.partition_key.clone(), row_key };
            let mut own = OutcomeUnknownError::new(group.name(), row, error.reason.clone());
            own.request.clone_from(&error.request);
            Box::new(own).into()
        }
        Error::TableNotFound(table) => Error::TableNotFound(table.clone()),
        Error::TableBeingDeleted(table) => Error::TableBeingDeleted(table.clone()),
        Error::Service(error) => Error::Service(error.clone()),
        Error::NoAnswer { table, operation, reason, request } => {
            Error::NoAnswer { table: table.clone(), operation, reason: reason.clone(), request: request.clone() }
        }
        Error::Store(error) => Error::Store(error.to_string().into()),
        _ => return None,
    })
}

/// Reads rows of one partition with a query, as far as one page shows them, and the others one by one.
async fn query(backend: Arc<Client>, wanted: Wanted, reads: Vec<WaitingRead>) {
    let Wanted { table, partition_key, select } = wanted.clone();
    let row_keys: Vec<_> = reads.iter().map(|read| &*read.row_key).collect();
    let page = u32::try_from(reads.len() * ROWS).unwrap_or(limits::PAGE).min(limits::PAGE);
    let shown = several(&backend, table.into(), &partition_key, &row_keys, select.map(Into::into), page).await;
    // If the query fails, the error of a read has to concern its own row.
    let mut shown = shown.unwrap_or_default().into_iter();
    let mut others = Vec::new();
    for read in reads {
        let row = match shown.next() {
            Some(Shown::Row(row)) => Some(row),
            Some(Shown::Missing) => None,
            Some(Shown::Not) | None => {
                others.push(get(Arc::clone(&backend), wanted.clone(), read));
                continue;
            }
        };
        let _ = read.answer.send(Ok(row));
    }
    stream::iter(others).buffer_unordered(pacing::CONCURRENCY).for_each(async |()| {}).await;
}

/// Reads a row.
async fn get(backend: Arc<Client>, Wanted { table, partition_key, select }: Wanted, read: WaitingRead) {
    let row = backend.get(&table, &partition_key, &read.row_key, select.as_deref()).await;
    let _ = read.answer.send(row);
}

impl fmt::Debug for Batching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Batching").field(&self.inner).finish()
    }
}

impl Backend for Batching {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.inner.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, Result<Vec<String>>> {
        self.inner.tables(request)
    }

    fn read<'a>(&'a self, request: ReadRequest<'a>, reader: Reader<'a>) -> BoxFuture<'a, Result<Option<Continuation>>> {
        let ReadTarget::Row { table, partition_key, row_key, select } = request.target else {
            return self.inner.read(request, reader);
        };
        Box::pin(async move {
            let add = move |waiting: &mut Waiting, answer| {
                let (table, partition_key) = (table.to_owned(), partition_key.to_owned());
                let wanted = Wanted { table, partition_key, select: select.map(<[_]>::to_vec) };
                waiting.reads.push(wanted, WaitingRead { row_key: row_key.to_owned(), answer });
            };
            let row = self.ask(add).await?;
            row.iter().try_for_each(|row| reader(row.as_ref()))?;
            Ok(None)
        })
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            let group = Group::only(groups)?;
            let add = move |waiting: &mut Waiting, answer| {
                let partition = (group.table.to_string(), group.partition_key.clone());
                waiting.writes.push(partition, WaitingWrite { group: group.clone(), answer });
            };
            Ok(self.ask(add).await?)
        })
    }

    fn view(&self, _: StoreView) -> Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use futures_util::{FutureExt, future::join_all};
    use table_embedded::InMemoryBackend;
    use table_store::{Properties, backend::Action};

    use super::*;

    #[tokio::test]
    async fn a_write_that_its_task_gave_up_is_not_sent() -> Result<()> {
        let store = Arc::new(Client::new(Arc::new(InMemoryBackend::new()?)));
        store.create_table("Posts").await?;
        let batching = Batching::new(Arc::clone(&store));
        let group = |row_key: &str| {
            let operations =
                vec![Operation { row_key: row_key.to_owned(), action: Action::Insert(Properties::default()) }];
            Group { table: "Posts".into(), partition_key: "a".to_owned(), operations }
        };
        let (kept, given_up) = (group("kept"), group("given up"));
        let mut kept = Box::pin(batching.execute_group(&kept));
        assert!((&mut kept).now_or_never().is_none());
        assert!(batching.execute_group(&given_up).now_or_never().is_none(), "it waits, and is dropped");
        join_all(batching.take()).await;
        kept.await?;
        assert!(store.get("Posts", "a", "kept", None).await?.is_some());
        assert_eq!(store.get("Posts", "a", "given up", None).await?, None);
        Ok(())
    }

    /// A transaction of several entities is one write, whatever it is packed with.
    #[tokio::test]
    async fn the_operations_of_a_transaction_stay_together() -> Result<()> {
        let store = Arc::new(Client::new(Arc::new(InMemoryBackend::new()?)));
        store.create_table("Posts").await?;
        let batching = Batching::new(Arc::clone(&store));
        let group = |row_keys: [&str; 2]| {
            let operations = row_keys.map(|row_key| Operation {
                row_key: row_key.to_owned(),
                action: Action::Insert(Properties::default()),
            });
            Group { table: "Posts".into(), partition_key: "a".to_owned(), operations: operations.into() }
        };
        store.execute_group(&group(["taken", "other"])).await?;
        let groups = [["1", "2"], ["3", "taken"], ["4", "5"], ["other", "6"], ["7", "8"]].map(group);
        let mut writes = Box::pin(join_all(groups.iter().map(|group| batching.execute_group(group))));
        assert!((&mut writes).now_or_never().is_none());
        join_all(batching.take()).await;
        let is_written: Vec<_> = writes.await.iter().map(Result::is_ok).collect();
        assert_eq!(is_written, [true, false, true, false, true]);
        for (group, is_written) in groups.iter().zip(is_written) {
            for operation in
                group.operations.iter().filter(|operation| !["taken", "other"].contains(&&*operation.row_key))
            {
                assert_eq!(store.get("Posts", "a", &operation.row_key, None).await?.is_some(), is_written);
            }
        }
        Ok(())
    }
}
