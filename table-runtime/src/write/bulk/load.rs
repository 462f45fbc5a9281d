//! Packing of entities into transactions.
//!
//! A batch is *open* while it waits for more entities of its partition, *packed* while it waits to be sent, and then in
//! flight. Batches are sent in groups, so that those of a group share a commit of a store that has commits. The input is
//! read only while no group is packed, so that it is not read faster than the store can write.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::VecDeque,
    future::poll_fn,
    hash::{BuildHasher as _, Hash},
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use hashbrown::{DefaultHashBuilder, Equivalent, HashMap, HashSet};
use table_model::{EventContent, Holds, unstable::layout::LayoutExt};
use table_store::{
    Error, Result,
    backend::BoxFuture,
    error::{BulkError, BulkFailure, BulkProgress},
    unstable::{RandomGuids, RowKeys, limits},
};

use super::{
    Bulk, BulkCallback, FAILURES, Input, SourceKind, TypedWrite,
    batching::Batching,
    send::{BatchOutcome, Writes, write_batch, write_in_steps},
};
use crate::{
    client::{pace::Pace, pacing, tables::Tables},
    write::index::{BegunWrite, Write, announce_mark},
};

/// Maximum number of entities in open batches, and of entities in flight.
const MAX_WAITING: usize = 20_000;
/// Approximate maximum size of these entities in bytes.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Share of the open batches that is packed if too many entities wait: one in eight, the fullest ones. The choice looks
/// at every open batch, but so many are packed at once that the cost for each entity is small.
const SHARE: usize = 8;
/// Share of the batches in flight that are sent as a group: one in four.
const GROUP: usize = 4;
/// Maximum estimated size of a transaction. The estimate is below the size that is sent, which may be 4 MiB.
pub(super) const TRANSACTION_BYTES: usize = 3 * 1024 * 1024;
/// Approximate size of an operation without its properties in bytes, as it is sent.
pub(super) const LINES: usize = 700;

/// A bulk write in progress.
pub(super) struct BulkWriter<'a> {
    tables: Tables,
    /// The backend of the writes, if entities have rows that are written in steps of their own.
    steps: Option<Arc<Batching>>,
    /// Sends the writes of a transaction.
    send: fn(Writes) -> BoxFuture<'static, BatchOutcome>,
    /// The transactions of these steps that are in flight.
    sending: FuturesUnordered<BoxFuture<'static, ()>>,
    /// The transactions that wait until others are sent.
    to_send: VecDeque<BoxFuture<'static, ()>>,
    /// Waiting requests are taken only while fewer transactions than this are in flight: 1 makes rounds.
    taken_below: usize,
    /// `true` if transactions of one partition would collide at a list. They are then sent one after another.
    one_by_one: bool,
    pace: Pace,
    on_progress: Option<BulkCallback<'a>>,
    /// The source of the entities; `None` after its end.
    input: Option<Input<'a>>,
    source: SourceKind,
    /// `true` if the input had no item ready when it was asked last.
    input_waits: bool,
    /// The open batches, by table and partition.
    open: HashMap<PartitionId, OpenBatch>,
    /// The packed batches, in the order in which they are sent.
    packed: VecDeque<OpenBatch>,
    /// Number of entities in the open batches, and their estimated size.
    waiting: usize,
    waiting_bytes: usize,
    in_flight: FuturesUnordered<BoxFuture<'static, Completed>>,
    /// Number of entities in flight.
    in_flight_entities: usize,
    /// The rows of the transactions in flight. The next write of such a row waits for the earlier one.
    in_flight_rows: HashSet<OwnRow>,
    ids: RandomGuids,
    hasher: DefaultHashBuilder,
    /// The entities that are not done: neither written, nor missing, nor failed for a reason of their own.
    outstanding: Outstanding,
    /// The rows of the entity that is taken, empty otherwise: memory that is used again.
    own_rows: Vec<OwnRow>,
    progress: BulkProgress,
    failures: Vec<BulkFailure>,
    /// `true` after an error that does not concern a single entity.
    fatal: bool,
}

/// A table (of a sliced entity, the slice) and a partition key.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PartitionId {
    table: Cow<'static, str>,
    partition_key: String,
}

/// The same, borrowed.
#[derive(Hash)]
struct PartitionRef<'a> {
    table: &'a Cow<'static, str>,
    partition_key: &'a str,
}

impl Equivalent<PartitionId> for PartitionRef<'_> {
    fn equivalent(&self, other: &PartitionId) -> bool {
        *self.table == other.table && self.partition_key == other.partition_key
    }
}

impl From<&PartitionRef<'_>> for PartitionId {
    fn from(PartitionRef { table, partition_key }: &PartitionRef<'_>) -> Self {
        Self { table: (*table).clone(), partition_key: (*partition_key).to_owned() }
    }
}

/// The positions of the input that are not done.
#[derive(Default)]
struct Outstanding {
    /// The first position that is under way.
    first: usize,
    /// Whether each position from the first one on has ended.
    ended: VecDeque<bool>,
    /// The first position that has ended and is not done: the entity may have been written, or may still be.
    left: Option<usize>,
}

impl Outstanding {
    /// Begins the next position.
    fn begin(&mut self) {
        self.ended.push_back(false);
    }

    fn end(&mut self, position: usize, is_done: bool) {
        if let Some(ended) = position.checked_sub(self.first).and_then(|at| self.ended.get_mut(at)) {
            *ended = true;
        }
        while self.ended.pop_front_if(|ended| *ended).is_some() {
            self.first += 1;
        }
        if !is_done {
            self.left = Some(self.left.map_or(position, |left| left.min(position)));
        }
    }

    /// Returns the first position that is not done.
    fn first(&self) -> usize {
        self.left.map_or(self.first, |left| left.min(self.first))
    }
}

/// The hash of a row that only one write in flight may have: an entity's own, the claim of a unique value, or in place of the
/// lists of a partition its key. Two rows of one hash only let one write wait for the other.
type OwnRow = u64;

/// The writes of one transaction.
#[derive(Default)]
struct OpenBatch {
    writes: Writes,
    own_rows: Vec<OwnRow>,
    rows: usize,
    bytes: usize,
}

impl OpenBatch {
    /// Announces the marks of events that the batch will need, so that few transactions write those of many batches.
    fn announce(&self) {
        let mut kinds: Vec<&str> = Vec::new();
        for BegunWrite { write, entity } in &self.writes.writes {
            if write.records() && !kinds.contains(&write.schema.entity) {
                kinds.push(write.schema.entity);
                announce_mark(write, entity.keys());
            }
        }
    }
}

/// The outcome of a batch, and the rows that its writes do not have any more.
type Completed = (Vec<OwnRow>, BatchOutcome);

/// The next event of a bulk write.
enum Event {
    /// The input yielded an item.
    Given(Result<TypedWrite>),
    /// The input has ended.
    Ended,
    /// The input has no item ready, so that the packed batches wait for no others.
    Waits,
    /// The input has no item ready, and no transaction is in flight.
    Quiet,
    /// A transaction has completed.
    Completed(Completed),
}

impl<'a> BulkWriter<'a> {
    pub(super) fn new(bulk: Bulk<'a>) -> Self {
        let Bulk { tables, entities, schemas, reindexed, source, side_by_side, on_progress, .. } = bulk;
        let backend = tables.backend();
        let pace = Pace::new(backend.side_by_side(), side_by_side, backend.overloads());
        let is_written = |layout| reindexed.is_none_or(|only| layout == only);
        let takes_steps = schemas.iter().any(|schema| schema.in_steps(backend.reach()).any(is_written));
        let steps = takes_steps.then(|| Arc::new(Batching::new(Arc::clone(backend))));
        let tables = match &steps {
            Some(steps) => tables.with_backend(Arc::<Batching>::clone(steps)),
            None => tables,
        };
        Self {
            tables,
            steps,
            // Only a deletion has several types. Those of a group are deleted in one transaction.
            send: if takes_steps && schemas.len() == 1 {
                |writes| Box::pin(write_in_steps(writes))
            } else {
                |writes| Box::pin(write_batch(writes))
            },
            sending: FuturesUnordered::new(),
            to_send: VecDeque::new(),
            // The requests of a round share transactions: the fences of a reindex wait until all rows are written.
            taken_below: if reindexed.is_some() { 1 } else { usize::MAX },
            one_by_one: schemas.iter().any(|schema| schema.lists().any(is_written)),
            pace,
            on_progress,
            input: Some(entities),
            source,
            input_waits: false,
            open: HashMap::new(),
            packed: VecDeque::new(),
            waiting: 0,
            waiting_bytes: 0,
            in_flight: FuturesUnordered::new(),
            in_flight_entities: 0,
            in_flight_rows: HashSet::new(),
            ids: RandomGuids::default(),
            hasher: DefaultHashBuilder::default(),
            outstanding: Outstanding::default(),
            own_rows: Vec::new(),
            progress: BulkProgress::default(),
            failures: Vec::new(),
            fatal: false,
        }
    }

    pub(super) async fn run(mut self) -> Result<BulkProgress> {
        while !self.must_stop() && !self.is_done() {
            let launched = self.launch();
            // The input is read on without a look at the transactions in flight, except once for each transaction.
            let looks = launched || self.progress.read.is_multiple_of(limits::OPERATIONS);
            match poll_fn(|context| self.poll_event(context, looks)).await {
                Event::Given(item) => self.take(item),
                Event::Waits => {}
                // The input may wait until the entities that it yielded are written.
                Event::Quiet => self.pack_all(),
                Event::Ended => {
                    self.input = None;
                    self.pack_all();
                    if self.source == SourceKind::Counted {
                        self.report();
                    }
                }
                Event::Completed(outcome) => self.note(outcome),
            }
            if looks {
                pacing::yield_now().await;
            }
        }
        while let Some(outcome) = poll_fn(|context| self.poll_in_flight(context)).await {
            self.note(outcome);
        }
        self.finish()
    }

    fn must_stop(&self) -> bool {
        self.fatal || self.failures.len() >= FAILURES
    }

    /// Checks whether so many batches are packed that they may be sent: a share of those in flight, so that a store with
    /// nothing to do gets the first one at once.
    fn has_group(&self) -> bool {
        self.packed.len() > self.in_flight.len() / GROUP
    }

    fn is_done(&self) -> bool {
        self.input.is_none() && self.packed.is_empty() && self.in_flight.is_empty()
    }

    fn poll_event(&mut self, context: &mut Context<'_>, looks: bool) -> Poll<Event> {
        // Transactions that were just launched start with this poll. They run while the next ones are packed.
        if looks && let Poll::Ready(Some(outcome)) = self.poll_sent(context) {
            return Poll::Ready(Event::Completed(outcome));
        }
        let has_group = self.has_group();
        if let Some(input) = self.input.as_mut().filter(|_| !has_group) {
            match input.poll_next_unpin(context) {
                Poll::Ready(Some(item)) => {
                    self.input_waits = false;
                    return Poll::Ready(Event::Given(item));
                }
                Poll::Ready(None) => return Poll::Ready(Event::Ended),
                Poll::Pending if !mem::replace(&mut self.input_waits, true) && !self.packed.is_empty() => {
                    return Poll::Ready(Event::Waits);
                }
                Poll::Pending
                    if self.source == SourceKind::User && self.in_flight.is_empty() && !self.open.is_empty() =>
                {
                    return Poll::Ready(Event::Quiet);
                }
                Poll::Pending => {}
            }
        }
        match self.poll_in_flight(context) {
            Poll::Ready(Some(outcome)) => Poll::Ready(Event::Completed(outcome)),
            _ => Poll::Pending,
        }
    }

    /// Polls the entities in flight, and the requests that were sent for them.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Option<Completed>> {
        loop {
            match self.in_flight.poll_next_unpin(context) {
                Poll::Pending => {}
                completed @ Poll::Ready(_) => {
                    if self.steps.is_none() && matches!(completed, Poll::Ready(Some(_))) {
                        self.note_pace(self.in_flight.len() + 1);
                    }
                    return completed;
                }
            }
            // An answer lets entities go on.
            if !matches!(self.sending.poll_next_unpin(context), Poll::Ready(Some(()))) {
                return Poll::Pending;
            }
            self.note_pace(self.sending.len() + 1);
        }
    }

    /// Polls the entities in flight. If all of them wait, sends the requests that they wait for.
    fn poll_in_flight(&mut self, context: &mut Context<'_>) -> Poll<Option<Completed>> {
        loop {
            match self.poll_sent(context) {
                Poll::Pending => {}
                completed @ Poll::Ready(_) => return completed,
            }
            let Some(steps) = &self.steps else { return Poll::Pending };
            let limit = self.pace.limit();
            if self.to_send.is_empty() && self.sending.len() < limit.min(self.taken_below) {
                self.to_send.extend(steps.take());
            }
            let room = limit.saturating_sub(self.sending.len()).min(self.to_send.len());
            if room == 0 {
                return Poll::Pending;
            }
            self.sending.extend(self.to_send.drain(..room));
        }
    }

    /// Adapts the number of transactions in flight after one of so many has completed.
    fn note_pace(&mut self, in_flight: usize) {
        let overloads = self.tables.backend().overloads();
        self.pace.note(in_flight, overloads);
    }

    /// Takes the next entity of the input.
    fn take(&mut self, item: Result<TypedWrite>) {
        let position = self.progress.read;
        self.progress.read += 1;
        let begun = item.and_then(|(schema, entity)| {
            let write = Write::with_id_of(self.tables.clone(), schema, || self.ids.draw())?;
            let table = write.table_of(entity.keys())?;
            Ok((table, entity.begin(write)))
        });
        let (table, write) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.progress.failed += 1;
                self.outstanding.begin();
                self.outstanding.end(position, true);
                return self.failures.push(BulkFailure::new(position, None, Arc::new(error)));
            }
        };
        self.outstanding.begin();
        if self.source == SourceKind::Counted {
            self.outstanding.end(position, true);
            if self.progress.read.is_multiple_of(limits::OPERATIONS) {
                self.report();
            }
            return;
        }
        let mut own_rows = mem::take(&mut self.own_rows);
        self.hash_own_rows(&write, &mut own_rows);
        let (rows, bytes) = (write.most_rows(), write.bytes());
        let partition = PartitionRef { table: &table, partition_key: &write.entity.keys().partition_key };
        let full = self.open.get(&partition).is_some_and(|open| {
            open.rows + rows > limits::OPERATIONS
                || open.bytes + bytes > TRANSACTION_BYTES
                || own_rows.iter().any(|row| open.own_rows.contains(row))
        });
        if full {
            self.pack(&partition);
        }
        let open = match self.open.get_mut(&partition) {
            Some(open) => open,
            None => self.open.entry(PartitionId::from(&partition)).or_default(),
        };
        if self.one_by_one && open.writes.writes.is_empty() {
            // So the transactions of the partition are sent one after another.
            open.own_rows.push(self.hasher.hash_one(partition.partition_key));
        }
        open.rows += rows;
        open.bytes += bytes;
        open.own_rows.append(&mut own_rows);
        self.own_rows = own_rows;
        open.writes.push(position, write);
        self.waiting += 1;
        self.waiting_bytes += bytes;
        while self.waiting > MAX_WAITING || self.waiting_bytes > MAX_WAITING_BYTES {
            self.pack_fullest();
        }
    }

    /// Packs the open batch of a partition.
    fn pack<P: Hash + Equivalent<PartitionId>>(&mut self, partition: &P) {
        let Some(batch) = self.open.remove(partition) else { return };
        self.waiting -= batch.writes.writes.len();
        self.waiting_bytes -= batch.bytes;
        batch.announce();
        self.packed.push_back(batch);
    }

    /// Packs the fullest open batches: a transaction that is nearly full costs least for each entity.
    fn pack_fullest(&mut self) {
        let mut places: Vec<_> = self.open.iter().map(|(place, open)| (Reverse(open.rows), place)).collect();
        let share = places.len().div_ceil(SHARE);
        if share < places.len() {
            places.select_nth_unstable_by_key(share, |(rows, _)| *rows);
        }
        let fullest: Vec<_> = places[..share].iter().map(|(_, place)| (*place).clone()).collect();
        for place in &fullest {
            self.pack(place);
        }
    }

    /// Packs every open batch.
    fn pack_all(&mut self) {
        (self.waiting, self.waiting_bytes) = (0, 0);
        let mut batches: Vec<_> = mem::take(&mut self.open).into_values().collect();
        // The order is that of the input. The order of the map differs in every run.
        batches.sort_by_key(|batch| batch.writes.positions.first().copied());
        batches.iter().for_each(OpenBatch::announce);
        self.packed.extend(batches);
    }

    /// Adds the rows that no other write in flight may have. Two claims of one value that run side by side would abort each
    /// other.
    fn hash_own_rows(&self, write: &BegunWrite, rows: &mut Vec<OwnRow>) {
        let hash = |layout: usize, keys: &RowKeys| self.hasher.hash_one((layout, keys));
        rows.push(hash(0, write.entity.keys()));
        let (schema, fences) = (write.write.schema, write.entity.verb.fences());
        // In one transaction, a value may pass from one entity to another, but a reindex passes none on. In steps, a reindex
        // need not wait: an owner that it finds is committed.
        let is_claim = |layout: usize| match &self.steps {
            Some(_) => !fences && schema.layouts[layout].is_before_commit(),
            None => fences,
        };
        let claims = write.entity.written_rows().iter();
        let claims = claims.filter(|row| schema.is_unique(row.layout) && is_claim(row.layout));
        rows.extend(claims.map(|row| hash(row.layout, &row.keys)));
    }

    /// Launches packed batches, if they are a group or no others come, as long as there is room for them. Returns true if
    /// at least one was launched.
    fn launch(&mut self) -> bool {
        let mut launched = false;
        if !self.has_group() && !self.input_waits && self.input.is_some() {
            return false;
        }
        while self.has_room()
            && let Some(batch) = self.packed.pop_front()
        {
            // The earlier transaction with one of the rows has to complete first.
            if batch.own_rows.iter().any(|row| self.in_flight_rows.contains(row)) {
                self.packed.push_front(batch);
                break;
            }
            let OpenBatch { writes, own_rows, .. } = batch;
            self.in_flight_entities += writes.writes.len();
            self.in_flight_rows.extend(&own_rows);
            let sent = (self.send)(writes);
            self.in_flight.push(Box::pin(sent.map(|outcome| (own_rows, outcome))));
            launched = true;
        }
        launched
    }

    /// Checks whether another batch may be launched. Each step of many entities is one transaction, so as many of them
    /// are in flight as fill these transactions.
    fn has_room(&self) -> bool {
        let has_room = match self.steps {
            Some(_) => self.in_flight_entities < self.pace.limit().saturating_mul(limits::OPERATIONS),
            None => self.in_flight.len() < self.pace.limit(),
        };
        has_room && self.in_flight_entities < MAX_WAITING
    }

    fn note(&mut self, (own_rows, outcome): Completed) {
        let BatchOutcome { written, missing, failed, fatal } = outcome;
        self.in_flight_entities -= written.len() + missing.len() + failed.len();
        for row in &own_rows {
            self.in_flight_rows.remove(row);
        }
        // An entity is not done if it may have been written, or may still be.
        let is_done = |failure: &BulkFailure| !fatal && !matches!(*failure.error, Error::OutcomeUnknown(_));
        let done = written.iter().chain(&missing).map(|position| (*position, true));
        for (position, is_done) in done.chain(failed.iter().map(|failure| (failure.position, is_done(failure)))) {
            self.outstanding.end(position, is_done);
        }
        self.progress.written += written.len();
        self.progress.missing += missing.len();
        self.progress.failed += failed.len();
        self.failures.extend(failed);
        self.fatal |= fatal;
        self.report();
    }

    fn report(&mut self) {
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(&self.progress);
        }
    }

    fn finish(mut self) -> Result<BulkProgress> {
        self.failures.sort_by_key(|failure| failure.position);
        let resume_from = self.outstanding.first();
        // The input may have ended without having reported it, if its last entity was tried and it was not polled
        // again.
        let has_more = match &mut self.input {
            Some(input) if !self.failures.is_empty() => !matches!(input.next().now_or_never(), Some(None)),
            _ => false,
        };
        let ended_early = has_more || !self.open.is_empty() || !self.packed.is_empty();
        let progress = self.progress.clone();
        match BulkError::new(self.progress, self.failures, resume_from, ended_early) {
            None => Ok(progress),
            Some(error) => Err(Error::Bulk(Box::new(error))),
        }
    }
}

impl BegunWrite {
    /// Returns the number of rows that the write may change. If the old elements of an entity are not known, they are taken
    /// to be as many as the new ones.
    fn most_rows(&self) -> usize {
        let (schema, verb, written) = (&self.write.schema, self.entity.verb, self.entity.written_rows());
        let is_list = |layout: &usize| schema.holds(*layout) == Holds::List;
        let is_index_row = |layout: usize| schema.layouts[layout].is_same_partition() && !is_list(&layout);
        let new = written.iter().filter(|row| is_index_row(row.layout)).count();
        let lists = if verb.fences() {
            written.iter().filter(|row| is_list(&row.layout)).count()
        } else {
            schema.lists().count()
        };
        // An index row may be deleted and another one written.
        let (old, listed) = match self.entity.old_rows() {
            _ if verb.inserts() || verb.fences() => (0, 2),
            Some(old) => (old.iter().filter(|row| is_index_row(row.layout)).count(), 4),
            None => (new.max(schema.same_partition().count() - lists), 4),
        };
        1 + new + old + listed * lists + self.most_events()
    }

    /// Returns the largest number of events that the write records: two if it takes the place of an entity that has expired.
    fn most_events(&self) -> usize {
        match (self.write.records() && !self.entity.verb.fences(), self.write.schema.lifecycle.expires) {
            (false, _) => 0,
            (true, None) => 1,
            (true, Some(_)) => 2,
        }
    }

    /// Returns the approximate size of the write in bytes, as it is sent.
    fn bytes(&self) -> usize {
        let own = self.entity.new_rows().filter(|_| !self.entity.verb.fences()).map(|new| &new.primary);
        let rows = own.into_iter().chain(self.entity.written_rows());
        let rows: usize = rows.map(|row| row.properties.as_bytes().len() * 2).sum();
        let has_copies = self.write.schema.events == Some(EventContent::Copy);
        LINES * self.most_rows() + rows * if has_copies { 1 + self.most_events() } else { 1 }
    }
}
