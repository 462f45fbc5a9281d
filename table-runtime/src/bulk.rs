//! Writing many entities: packed into transactions, side by side.

mod load;
mod send;

use std::{fmt, future::IntoFuture, pin::Pin};

use futures_core::Stream;
use futures_util::{StreamExt, stream};

use crate::{
    BulkProgress, Point, Result, TableEntity, Tables,
    backend::BoxFuture,
    index::{Encoded, Schema},
    query::{OwnKey, Primary},
    row::RowKeys,
    transaction::Verb,
    write,
};
use load::BulkWriter;

/// How many transactions are under way at most, if nothing else is asked for.
const CONCURRENCY: usize = 16;
/// After how many failures it gives up.
const FAILURES: usize = 10_000;

/// Writes of many entities, which run when they are awaited: see [`Tables::insert_all`].
#[must_use = "nothing is written until it is awaited"]
pub struct Bulk<'a> {
    tables: Tables,
    entities: Input<'a>,
    schema: Schema,
    side_by_side: usize,
    told: Option<Told<'a>>,
}

/// An entity or a reference to one, as [`Tables::insert_all`] and [`Tables::upsert_all`] take them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity, nor a reference to one",
    note = "add `#[derive(TableEntity)]` to the struct",
    note = "entities as they were read are given by reference: `.iter().map(|stored| &**stored)`"
)]
pub trait AsEntity<E: TableEntity> {
    /// The entity.
    fn as_entity(&self) -> &E;
}

impl<E: TableEntity> AsEntity<E> for E {
    fn as_entity(&self) -> &E {
        self
    }
}

impl<E: TableEntity> AsEntity<E> for &E {
    fn as_entity(&self) -> &E {
        self
    }
}

/// What is written, as it comes.
type Input<'a> = Pin<Box<dyn Stream<Item = Result<Item>> + Send + 'a>>;

/// An entity, or the key of one, encoded.
type Item = (RowKeys, Verb);

/// What is told how far it is.
type Told<'a> = Box<dyn FnMut(&BulkProgress) + Send + 'a>;

impl Tables {
    /// Writes new entities, many at once: those of one partition in transactions of up to 100 rows, their index rows
    /// included, the transactions side by side. Await it.
    ///
    /// It takes entities, or references to them, as it writes, so that an endless input needs no more memory than a
    /// short one. Each transaction is written as a whole; what an entity that fails would take down with it is written
    /// without it. Entities with indexes in other partitions are written one by one, side by side.
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
    /// store that does not answer, [ends it early](BulkError::ended_early), and so do 10,000 failures, of whatever
    /// kind; [`resume_from`](BulkError::resume_from) says where to go on, best with
    /// [`upsert_all`](Self::upsert_all), which can write what is there already.
    pub fn insert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item: AsEntity<E>, IntoIter: Send + 'a>,
    {
        self.insert_all_from(stream::iter(entities))
    }

    /// As [`insert_all`](Self::insert_all), from a stream.
    ///
    /// A stream that has nothing to give yet keeps nothing waiting: what it gave is then sent as soon as no other
    /// transaction is under way, full or not. So the stream may wait until what it gave is written, as
    /// [`progress`](Bulk::progress) tells.
    pub fn insert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: Stream<Item: AsEntity<E>> + Send + 'a,
    {
        self.bulk::<E>(entities.map(|entity| encoded(entity.as_entity(), Verb::Insert)))
    }

    /// Writes entities, new or in place of those with their keys: as [`insert_all`](Self::insert_all), but repeating it
    /// does no harm. An entity that comes twice is written twice, in this order. Entities with indexes are read first.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn upsert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item: AsEntity<E>, IntoIter: Send + 'a>,
    {
        self.upsert_all_from(stream::iter(entities))
    }

    /// As [`upsert_all`](Self::upsert_all), from a stream.
    pub fn upsert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: Stream<Item: AsEntity<E>> + Send + 'a,
    {
        self.bulk::<E>(entities.map(|entity| encoded(entity.as_entity(), Verb::Upsert)))
    }

    /// Removes the entities with these keys; one that is not there is no failure, and counted as
    /// [`missing`](BulkProgress::missing).
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
        self.bulk::<E>(keys.map(|key| Ok((write::point(key.plan())?, Verb::Remove))))
    }

    fn bulk<'a, E: TableEntity>(&self, entities: impl Stream<Item = Result<Item>> + Send + 'a) -> Bulk<'a> {
        let (tables, schema) = (self.clone(), Schema::of::<E>());
        Bulk { tables, entities: Box::pin(entities), schema, side_by_side: CONCURRENCY, told: None }
    }
}

fn encoded<E: TableEntity>(entity: &E, verb: fn(Encoded) -> Verb) -> Result<Item> {
    let encoded = Encoded::of(entity)?;
    Ok((encoded.primary().keys.clone(), verb(encoded)))
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
        let Self { tables, entities, schema, side_by_side, told } = self;
        Box::pin(BulkWriter::new(tables, schema, side_by_side, told, entities).run())
    }
}

impl fmt::Debug for Bulk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("side_by_side", &self.side_by_side).finish_non_exhaustive()
    }
}
