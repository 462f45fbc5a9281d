//! Writing many entities: packed into transactions, side by side.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    future::IntoFuture,
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use futures_core::Stream;
use futures_util::{
    StreamExt,
    stream::{self, FuturesUnordered},
};

use crate::{
    Error, Point, Result, RowId, TableEntity, Tables,
    backend::BoxFuture,
    entity::RowKeys,
    index::{self, Encoded, Schema, Upkeep},
    limits,
    query::{OwnKey, Primary},
    transaction::{What, Write, read, send},
    write,
};

/// How many transactions are under way at most, if nothing else is asked for.
const SIDE_BY_SIDE: usize = 16;
/// How many entities wait for their transaction to be full, at most.
const WAITING: usize = 20_000;
/// How many bytes they have, about.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// What a transaction may have by the estimate, which is below what is sent.
const TRANSACTION_BYTES: usize = 3 * 1024 * 1024;
/// How often a transaction is sent again whose answer was lost.
const TRIES: usize = 5;
/// After how many failures it gives up.
const FAILURES: usize = 10_000;

/// Writes of many entities, which run when they are awaited: see [`Tables::insert_all`].
#[must_use = "nothing is written until it is awaited"]
pub struct Bulk<'a> {
    tables: Tables,
    entities: Pin<Box<dyn Stream<Item = Result<Item>> + Send + 'a>>,
    schema: Schema,
    side_by_side: usize,
    told: Option<Box<dyn FnMut(&BulkProgress) + Send + 'a>>,
}

/// An entity, or the key of one, encoded.
type Item = (RowKeys, What);

/// How far a bulk write is; also what it did in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkProgress {
    /// The entities that were taken from the input.
    pub read: usize,
    /// The entities that were written, or removed.
    pub written: usize,
    /// Those that failed.
    pub failed: usize,
}

/// A bulk write that did not write everything.
#[derive(Debug, thiserror::Error)]
#[error("{} of {} entities were not written; the first: {first}", progress.read - progress.written, progress.read)]
#[non_exhaustive]
pub struct BulkError {
    /// What was done all the same.
    pub progress: BulkProgress,
    /// What was tried and failed, and why. What was taken from the input and not tried, after an error that ended it,
    /// is not among them.
    pub failures: Vec<BulkFailure>,
    /// Of the input, so many entities are done: written, or among the failures that concern themselves alone. To go on
    /// after what stopped it is gone, skip so many; some of the entities after them may have been written already.
    pub resume_from: usize,
    first: Arc<Error>,
}

/// An entity that was not written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkFailure {
    /// Its place in the input, from 0.
    pub position: usize,
    /// Its row; `None` if it has none, since it cannot be encoded.
    pub row: Option<RowId>,
    /// Why; shared by those that failed together.
    pub error: Arc<Error>,
}

impl Tables {
    /// Writes new entities, many at once: those of one partition in transactions of up to 100 rows, their index rows
    /// included, the transactions side by side. Await it.
    ///
    /// It takes the input as it writes, so that an endless one needs no more memory than a short one. Each transaction
    /// is written as a whole; what an entity that fails would take down with it is written without it. Entities with
    /// indexes in other partitions are written one by one, side by side.
    ///
    /// ```
    /// # use table_runtime::{Error, Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables, posts: Vec<Post>) -> Result<()> {
    /// match tables.insert_all(posts).progress(|progress| println!("{} written", progress.written)).await {
    ///     Ok(done) => println!("all {} are there", done.written),
    ///     Err(Error::Bulk(error)) => error.failures.iter().for_each(|failure| println!("{}", failure.error)),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Bulk`] with everything that was not written, and why. An error that is not about one entity, such as a
    /// store that does not answer, ends it early; [`resume_from`](BulkError::resume_from) says where to go on, best
    /// with [`upsert_all`](Self::upsert_all), which can write what is there already.
    pub fn insert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item = E, IntoIter: Send + 'a>,
    {
        self.insert_all_from(stream::iter(entities))
    }

    /// As [`insert_all`](Self::insert_all), from a stream.
    pub fn insert_all_from<'a, E: TableEntity>(&self, entities: impl Stream<Item = E> + Send + 'a) -> Bulk<'a> {
        self.bulk::<E>(entities.map(|entity| encoded(&entity, What::Insert)))
    }

    /// Writes entities, new or in place of those with their keys: as [`insert_all`](Self::insert_all), but repeating it
    /// does no harm. An entity that comes twice is written twice, in this order. Entities with indexes are read first.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn upsert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item = E, IntoIter: Send + 'a>,
    {
        self.upsert_all_from(stream::iter(entities))
    }

    /// As [`upsert_all`](Self::upsert_all), from a stream.
    pub fn upsert_all_from<'a, E: TableEntity>(&self, entities: impl Stream<Item = E> + Send + 'a) -> Bulk<'a> {
        self.bulk::<E>(entities.map(|entity| encoded(&entity, What::Upsert)))
    }

    /// Removes the entities with these keys; one that is not there is none to remove, and no failure.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn remove_all<'a, E, I>(&self, keys: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item = Point<E, Primary>, IntoIter: Send + 'a>,
    {
        self.remove_all_from(stream::iter(keys))
    }

    /// As [`remove_all`](Self::remove_all), from a stream.
    pub fn remove_all_from<'a, E: TableEntity>(
        &self,
        keys: impl Stream<Item = Point<E, Primary>> + Send + 'a,
    ) -> Bulk<'a> {
        self.bulk::<E>(keys.map(|key| Ok((write::point(key.plan())?, What::Remove))))
    }

    fn bulk<'a, E: TableEntity>(&self, entities: impl Stream<Item = Result<Item>> + Send + 'a) -> Bulk<'a> {
        let (tables, schema) = (self.clone(), Schema::of::<E>());
        Bulk { tables, entities: Box::pin(entities), schema, side_by_side: SIDE_BY_SIDE, told: None }
    }
}

fn encoded<E: TableEntity>(entity: &E, what: fn(Encoded) -> What) -> Result<Item> {
    let encoded = Encoded::of(entity)?;
    Ok((encoded.primary().keys.clone(), what(encoded)))
}

impl<'a> Bulk<'a> {
    /// Tells how far it is, after each transaction.
    pub fn progress(mut self, told: impl FnMut(&BulkProgress) + Send + 'a) -> Self {
        self.told = Some(Box::new(told));
        self
    }

    /// How many transactions are under way at most; 16 if nothing is said, and at least one.
    pub fn side_by_side(mut self, transactions: usize) -> Self {
        self.side_by_side = transactions.max(1);
        self
    }
}

impl<'a> IntoFuture for Bulk<'a> {
    type Output = Result<BulkProgress>;
    type IntoFuture = BoxFuture<'a, Result<BulkProgress>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { tables, mut entities, schema, side_by_side, told } = self;
            let mut load = Load::new(tables, schema, side_by_side, told);
            while let Some(item) = entities.next().await {
                load.take(item).await;
                if load.gives_up() {
                    break;
                }
            }
            load.finish().await
        })
    }
}

impl fmt::Debug for Bulk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("side_by_side", &self.side_by_side).finish_non_exhaustive()
    }
}

/// A bulk write under way.
struct Load<'a> {
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

/// A write and its place in the input.
struct Placed {
    position: usize,
    write: Write<'static>,
}

/// What became of a transaction.
struct Flown {
    rows: Vec<RowKeys>,
    written: Vec<usize>,
    failed: Vec<BulkFailure>,
    fatal: bool,
}

impl<'a> Load<'a> {
    fn new(
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

    fn gives_up(&self) -> bool {
        self.fatal || self.failures.len() >= FAILURES
    }

    /// Takes the next entity of the input.
    async fn take(&mut self, item: Result<Item>) {
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

    async fn finish(mut self) -> Result<BulkProgress> {
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

impl Placed {
    fn failed(&self, error: &Arc<Error>) -> BulkFailure {
        BulkFailure { position: self.position, row: self.write.row_id().ok(), error: error.clone() }
    }
}

/// Writes entities that have rows in other partitions too.
async fn write_alone(writes: Vec<Placed>) -> Flown {
    let rows = writes.iter().map(|placed| placed.write.keys.clone()).collect();
    let mut flown = Flown { rows, written: Vec::new(), failed: Vec::new(), fatal: false };
    for placed in writes {
        let upkeep = &placed.write.upkeep;
        let written = match &placed.write.what {
            What::Insert(new) => upkeep.insert(new).await.map(drop),
            What::Upsert(new) => upkeep.upsert(new).await.map(drop),
            _ => upkeep.remove(&placed.write.keys).await.map(drop),
        };
        match written {
            Ok(()) => flown.written.push(placed.position),
            Err(error) => {
                flown.fatal |= !is_of_entity(&error);
                flown.failed.push(placed.failed(&Arc::new(error)));
            }
        }
    }
    flown
}

/// Writes a transaction, without those of its entities that fail.
async fn write_batch(writes: Vec<Placed>) -> Flown {
    let rows = writes.iter().map(|placed| placed.write.keys.clone()).collect();
    let mut flown = Flown { rows, written: Vec::new(), failed: Vec::new(), fatal: false };
    // What is too much for one transaction is written by halves.
    let mut parts = vec![writes];
    let (mut lost, mut delays) = (0, index::delays());
    while let Some(part) = parts.pop() {
        let (positions, mut writes): (Vec<_>, Vec<_>) =
            part.into_iter().map(|placed| (placed.position, placed.write)).unzip();
        if writes.is_empty() {
            continue;
        }
        let (error, sent) = match read(&writes).await {
            Ok(read) => match send(&writes, &read).await {
                Ok(_) => {
                    flown.written.extend(positions);
                    continue;
                }
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        let mut part: Vec<_> =
            positions.into_iter().zip(writes.drain(..)).map(|(position, write)| Placed { position, write }).collect();
        match culprit(&part, &error) {
            // What was read for it has changed since.
            Some((at, true)) if sent => match index::wait(&mut delays, error).await {
                Ok(()) => parts.push(part),
                Err(error) => {
                    flown.failed.push(part.remove(at).failed(&Arc::new(error)));
                    parts.push(part);
                }
            },
            // Where one is missing, more may be.
            Some((at, _)) if is_missing(&part[at], &error) => {
                let (there, missing) = split_missing(part, at).await;
                flown.written.extend(missing);
                parts.push(there);
            }
            Some((at, _)) => {
                flown.failed.push(part.remove(at).failed(&Arc::new(error)));
                parts.push(part);
            }
            // To write it twice does no harm.
            None if matches!(error, Error::OutcomeUnknown(_)) && lost < TRIES && !has_inserts(&part) => {
                lost += 1;
                parts.push(part);
            }
            None if matches!(error, Error::Limit(_)) && part.len() > 1 => {
                let half = part.split_off(part.len() / 2);
                parts.extend([half, part]);
            }
            None => {
                flown.fatal |= !is_of_entity(&error);
                let error = Arc::new(error);
                flown.failed.extend(part.iter().map(|placed| placed.failed(&error)));
                if flown.fatal {
                    flown.failed.extend(parts.iter().flatten().map(|placed| placed.failed(&error)));
                    break;
                }
            }
        }
    }
    flown
}

/// Whether it was to be removed, and is not there.
fn is_missing(placed: &Placed, error: &Error) -> bool {
    matches!((&placed.write.what, error), (What::Remove, Error::NotFound(_)))
}

/// Of what is to be removed, what is there, and the places of what is not; that one of them is missing is known.
async fn split_missing(part: Vec<Placed>, known: usize) -> (Vec<Placed>, Vec<usize>) {
    let mut looks: Vec<BoxFuture<'_, Result<bool>>> = Vec::with_capacity(part.len());
    for (at, placed) in part.iter().enumerate() {
        looks.push(Box::pin(async move {
            let removes = matches!(placed.write.what, What::Remove);
            // One that cannot be looked at is left to the transaction, which tells why.
            Ok(at == known || removes && matches!(placed.write.upkeep.exists(&placed.write.keys).await, Ok(false)))
        }));
    }
    let missing = index::side_by_side(looks).await.unwrap_or_default();
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for (placed, missing) in part.into_iter().zip(missing) {
        if missing { gone.push(placed.position) } else { there.push(placed) }
    }
    (there, gone)
}

fn has_inserts(part: &[Placed]) -> bool {
    part.iter().any(|placed| matches!(placed.write.what, What::Insert(_)))
}

/// The write that a transaction failed at, and whether it can be tried again as it is.
fn culprit(part: &[Placed], error: &Error) -> Option<(usize, bool)> {
    let by_row_key = |row: &RowId| part.iter().position(|placed| placed.write.keys.1 == row.row_key);
    match error {
        Error::AlreadyExists(row) | Error::ConditionNotMet(row) | Error::NotFound(row) => {
            let at = by_row_key(row)?;
            let write = &part[at].write;
            let read = write.indexed && !matches!(write.what, What::Insert(_));
            let gone = matches!((&write.what, error), (What::Remove, Error::NotFound(_)));
            Some((at, read && !gone))
        }
        Error::UniqueViolation(violation) => {
            let has = |placed: &Placed| match &placed.write.what {
                What::Insert(new) | What::Upsert(new) => {
                    new.rows.iter().flatten().any(|row| row.keys.1 == violation.row.row_key)
                }
                _ => false,
            };
            // Of two in one transaction, the later one.
            Some((part.iter().rposition(has)?, false))
        }
        Error::Limit(limit) => Some((by_row_key(limit.row.as_ref()?)?, false)),
        _ => None,
    }
}

/// Whether an error is about the entities that were written, and not about the store.
fn is_of_entity(error: &Error) -> bool {
    matches!(
        error,
        Error::Key(_)
            | Error::Property(_)
            | Error::Limit(_)
            | Error::AlreadyExists(_)
            | Error::NotFound(_)
            | Error::ConditionNotMet(_)
            | Error::UniqueViolation(_)
            | Error::Aborted(_)
            | Error::OutcomeUnknown(_)
            | Error::Damaged { .. }
    )
}
