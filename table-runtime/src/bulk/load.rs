//! Packing: which entities are written in one transaction, and when it is sent.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    task::Poll,
};

use futures_util::{StreamExt, stream::FuturesUnordered};

use super::{
    BulkError, BulkFailure, BulkProgress, Item,
    send::{Flown, Placed, write_alone, write_batch},
};
use crate::{
    Error, Result, Tables,
    backend::BoxFuture,
    entity::RowKeys,
    index::{self, Schema, Upkeep},
    limits,
    transaction::{What, Write},
};

/// How many entities wait for their transaction to be full, at most.
const WAITING: usize = 20_000;
/// How many bytes they have, about.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// What a transaction may have by the estimate, which is below what is sent.
const TRANSACTION_BYTES: usize = 3 * 1024 * 1024;
/// After how many failures it gives up.
const FAILURES: usize = 10_000;

/// A bulk write under way.
pub(super) struct Load<'a> {
    tables: Tables,
    schema: Schema,
    /// Whether an entity has rows in other partitions: then it is written by itself.
    alone: bool,
    /// Whether transactions of one partition would meet at a list.
    one_by_one: bool,
    side_by_side: usize,
    told: Option<Box<dyn FnMut(&BulkProgress) + Send + 'a>>,
    /// What waits for its transaction to be full, by table and partition.
    open: HashMap<Place, Batch>,
    waiting: usize,
    waiting_bytes: usize,
    flying: FuturesUnordered<BoxFuture<'static, Flown>>,
    /// The rows of what is under way: a row's next write waits for the one before.
    flying_rows: HashSet<RowKeys>,
    flying_partitions: HashMap<String, usize>,
    /// The places of what is neither written nor failed by itself.
    outstanding: BTreeSet<usize>,
    progress: BulkProgress,
    failures: Vec<BulkFailure>,
    /// An error that is not about one entity.
    fatal: bool,
}

/// A table, which is one of several where it is sliced, and a partition key.
type Place = (Cow<'static, str>, String);

/// The writes of one transaction.
#[derive(Default)]
struct Batch {
    writes: Vec<Placed>,
    row_keys: HashSet<String>,
    rows: usize,
    bytes: usize,
}

impl<'a> Load<'a> {
    pub(super) fn new(
        tables: Tables,
        schema: Schema,
        side_by_side: usize,
        told: Option<Box<dyn FnMut(&BulkProgress) + Send + 'a>>,
    ) -> Self {
        let alone = schema.claimed().next().is_some() || schema.following().next().is_some();
        Self {
            tables,
            schema,
            alone,
            one_by_one: schema.has_lists(),
            side_by_side,
            told,
            open: HashMap::new(),
            waiting: 0,
            waiting_bytes: 0,
            flying: FuturesUnordered::new(),
            flying_rows: HashSet::new(),
            flying_partitions: HashMap::new(),
            outstanding: BTreeSet::new(),
            progress: BulkProgress::default(),
            failures: Vec::new(),
            fatal: false,
        }
    }

    pub(super) fn gives_up(&self) -> bool {
        self.fatal || self.failures.len() >= FAILURES
    }

    /// Takes the next entity of the input.
    pub(super) async fn take(&mut self, item: Result<Item>) {
        let position = self.progress.read;
        self.progress.read += 1;
        let begun = item.and_then(|(keys, what)| {
            let upkeep = Upkeep::new(self.tables.backend().clone(), self.schema)?;
            let table = upkeep.table_of(&keys)?;
            Ok((table, Write { upkeep, keys, what, indexed: self.schema.layouts.len() > 1, stored: None }))
        });
        let (table, write) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.progress.failed += 1;
                return self.failures.push(BulkFailure { position, row: None, error: Arc::new(error) });
            }
        };
        self.outstanding.insert(position);
        let (partition_key, row_key) = write.keys.clone();
        let place = (table, partition_key);
        let (rows, bytes) = (write.most_rows(), write.bytes());
        let full = self.open.get(&place).is_some_and(|open| {
            open.rows + rows > limits::OPERATIONS
                || open.bytes + bytes > TRANSACTION_BYTES
                || open.row_keys.contains(&row_key)
        });
        if full {
            self.send(&place).await;
        }
        let open = self.open.entry(place.clone()).or_default();
        open.rows += rows;
        open.bytes += bytes;
        open.row_keys.insert(row_key);
        open.writes.push(Placed { position, write });
        self.waiting += 1;
        self.waiting_bytes += bytes;
        if self.alone {
            self.send(&place).await;
        }
        while self.waiting > WAITING || self.waiting_bytes > WAITING_BYTES {
            // The fullest one: what is nearly a transaction costs least.
            let Some((fullest, _)) = self.open.iter().max_by_key(|(_, open)| open.rows) else { break };
            let fullest = fullest.clone();
            self.send(&fullest).await;
        }
    }

    /// Sends what waits of a partition.
    async fn send(&mut self, place: &Place) {
        let Some(Batch { writes, bytes, .. }) = self.open.remove(place) else { return };
        let (_, partition_key) = place;
        self.waiting -= writes.len();
        self.waiting_bytes -= bytes;
        let meets = |load: &Self| {
            (load.one_by_one && load.flying_partitions.contains_key(partition_key))
                || writes.iter().any(|placed| load.flying_rows.contains(&placed.write.keys))
        };
        while self.flying.len() >= self.side_by_side || meets(self) {
            self.land().await;
        }
        self.flying_rows.extend(writes.iter().map(|placed| placed.write.keys.clone()));
        *self.flying_partitions.entry(partition_key.to_owned()).or_default() += 1;
        self.flying.push(if self.alone { Box::pin(write_alone(writes)) } else { Box::pin(write_batch(writes)) });
        // It is under way from here on, while the next ones are packed.
        while let Poll::Ready(Some(flown)) = futures_util::poll!(self.flying.next()) {
            self.note(flown);
        }
        index::breathe().await;
    }

    /// Waits for the next transaction that is done.
    async fn land(&mut self) {
        if let Some(flown) = self.flying.next().await {
            self.note(flown);
        }
    }

    fn note(&mut self, Flown { rows, written, failed, fatal }: Flown) {
        if let Some((partition_key, _)) = rows.first()
            && let Some(count) = self.flying_partitions.get_mut(partition_key)
        {
            *count -= 1;
            if *count == 0 {
                self.flying_partitions.remove(partition_key);
            }
        }
        for keys in &rows {
            self.flying_rows.remove(keys);
        }
        // What may have been written, or may yet be, is not done.
        let is_done = |failure: &&BulkFailure| !fatal && !matches!(*failure.error, Error::OutcomeUnknown(_));
        let by_themselves = failed.iter().filter(is_done).map(|failure| &failure.position);
        for position in written.iter().chain(by_themselves) {
            self.outstanding.remove(position);
        }
        self.progress.written += written.len();
        self.progress.failed += failed.len();
        self.failures.extend(failed);
        self.fatal |= fatal;
        if let Some(told) = &mut self.told {
            told(&self.progress);
        }
    }

    pub(super) async fn finish(mut self) -> Result<BulkProgress> {
        while !self.gives_up() {
            let Some(place) = self.open.keys().next().cloned() else { break };
            self.send(&place).await;
        }
        while !self.flying.is_empty() {
            self.land().await;
        }
        self.failures.sort_by_key(|failure| failure.position);
        match self.failures.first() {
            None => Ok(self.progress),
            Some(first) => {
                let resume_from = self.outstanding.first().copied().unwrap_or(self.progress.read);
                let first = first.error.clone();
                let (progress, failures) = (self.progress, self.failures);
                Err(Error::Bulk(Box::new(BulkError { progress, failures, resume_from, first })))
            }
        }
    }
}

impl Write<'_> {
    /// The rows that it may write.
    fn most_rows(&self) -> usize {
        let (each, lists) = match self.what {
            What::Insert(_) => (1, 2),
            // An index row may go and another come.
            _ => (2, 4),
        };
        let listed = self.upkeep.list_count();
        1 + each * (self.upkeep.same_partition_count() - listed) + lists * listed
    }

    /// About how many bytes it is, as it is sent.
    fn bytes(&self) -> usize {
        const LINES: usize = 700;
        let properties = match &self.what {
            What::Insert(new) | What::Upsert(new) => {
                new.rows.iter().flatten().map(|row| row.properties.as_bytes().len() * 2).sum()
            }
            _ => 0,
        };
        LINES * self.most_rows() + properties
    }
}
