//! Writes of many entities, packed into transactions that run concurrently.

mod batching;
mod load;
mod pace;
mod send;

use std::{fmt, future::IntoFuture, pin::Pin};

use futures_core::{Stream, TryStream};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    BulkProgress, Error, Point, Result, TableEntity, Tables,
    backend::BoxFuture,
    index::{Encoded, Schema},
    query::{OwnKey, Primary},
    row::RowKeys,
    transaction::Verb,
    write,
};
use load::BulkWriter;

/// Number of failures after which a bulk write ends.
const FAILURES: usize = 10_000;

/// A write of many entities, which runs when it is awaited: see [`Tables::insert_all`].
#[must_use = "nothing is written until it is awaited"]
pub struct Bulk<'a> {
    tables: Tables,
    entities: Input<'a>,
    schema: Schema,
    side_by_side: usize,
    on_progress: Option<BulkCallback<'a>>,
}

/// An entity or a reference to one, which [`Tables::insert_all`] and [`Tables::upsert_all`] accept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity, nor a reference to one",
    note = "add `#[derive(TableEntity)]` to the struct",
    note = "entities as they were read are given by reference: `.iter().map(|stored| &**stored)`"
)]
pub trait AsEntity<E: TableEntity> {
    /// Returns the entity.
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

/// The input: entities or keys, encoded as they arrive.
type Input<'a> = Pin<Box<dyn Stream<Item = Result<Item>> + Send + 'a>>;

/// The keys of an entity, and the verb, with the encoded entity if the verb writes one.
pub(crate) type Item = (RowKeys, Verb);

/// An error of a source of entities.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The callback that receives the progress.
type BulkCallback<'a> = Box<dyn FnMut(&BulkProgress) + Send + 'a>;

impl Tables {
    /// Writes many new entities. Entities of one partition are written in transactions of up to 100 rows, including
    /// their index rows. Transactions run concurrently. Await it.
    ///
    /// The input consists of entities or references to them. It is read while earlier entities are written, so an
    /// endless input needs no more memory than a short one. Each transaction is written as a whole. If an entity fails,
    /// the other entities of its transaction are written without it.
    ///
    /// On the service, entities with index rows in other partitions are written in steps, each step of many entities in
    /// one transaction: with two such indexes and 100 entities of one partition whose index rows share partitions too,
    /// 4 requests for 100 entities. An index row in a partition of its own takes a request of its own. Many entities are
    /// in flight at the same time; one whose insert takes so long that another writer treats it as abandoned fails with
    /// [`Error::Aborted`](crate::Error::Aborted).
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
    /// Returns [`Error::Bulk`](crate::Error::Bulk) with every entity that failed, and the reason. The write [ends
    /// early](crate::BulkError::ended_early) at an error that does not concern a single entity, such as a store that
    /// does not answer, and after 10,000 failures of any kind. To continue, start at
    /// [`resume_from`](crate::BulkError::resume_from), best with [`upsert_all`](Self::upsert_all), which can also write
    /// entities that already exist.
    pub fn insert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item: AsEntity<E>, IntoIter: Send + 'a>,
    {
        self.insert_all_from(stream::iter(entities))
    }

    /// Writes new entities from a stream, as [`insert_all`](Self::insert_all) does from an iterator.
    ///
    /// If the stream has no item ready, the entities that it yielded are sent as soon as no other transaction is in
    /// flight, even if their transactions are not full. So the stream may wait until these entities are written, as
    /// [`progress`](Bulk::progress) reports.
    pub fn insert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: Stream<Item: AsEntity<E>> + Send + 'a,
    {
        self.bulk::<E>(entities.map(|entity| encoded(entity.as_entity(), Verb::Insert)))
    }

    /// Writes new entities from a stream of results, such as the lines of a file or what another query reads, as
    /// [`insert_all_from`](Self::insert_all_from) does. An error in the stream is a failure of its position, like an
    /// entity that cannot be written, and the items after it are written.
    ///
    /// ```
    /// use futures::stream;
    /// use table_runtime::{Error, Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Reading { #[partition_key] sensor: String, #[row_key] number: u32 }
    ///
    /// # async fn example(tables: Tables) -> Result<()> {
    /// let lines = ["1", "two", "3"].map(|line| line.parse().map(|number| Reading { sensor: "a".into(), number }));
    /// let written = tables.try_insert_all_from(stream::iter(lines)).await;
    /// let Err(Error::Bulk(error)) = written else { panic!("`two` is no number") };
    /// assert_eq!((error.progress.written, error.failures[0].position), (2, 1));
    /// assert!(matches!(*error.failures[0].error, Error::Source(_)));
    /// # Ok(()) }
    /// # let tables = Tables::in_memory()?;
    /// # futures::executor::block_on(async { tables.create::<Reading>().await?; example(tables).await })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`insert_all`](Self::insert_all), with [`Error::Source`](crate::Error::Source) for each error
    /// in the stream; an [`Error`](crate::Error) of this crate stays what it is.
    pub fn try_insert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: TryStream<Ok: AsEntity<E>, Error: Into<BoxError>> + Send + 'a,
    {
        self.bulk::<E>(given(entities).map(|entity| encoded(entity?.as_entity(), Verb::Insert)))
    }

    /// Writes entities, new or in place of those with the same keys, as [`insert_all`](Self::insert_all) does. To
    /// repeat the write does no harm. An entity that occurs twice in the input is written twice, in the order of the
    /// input. Entities with indexes are read first.
    ///
    /// # Errors
    /// Returns the same errors as [`insert_all`](Self::insert_all).
    pub fn upsert_all<'a, E, I>(&self, entities: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item: AsEntity<E>, IntoIter: Send + 'a>,
    {
        self.upsert_all_from(stream::iter(entities))
    }

    /// Writes entities from a stream, as [`upsert_all`](Self::upsert_all) does from an iterator.
    pub fn upsert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: Stream<Item: AsEntity<E>> + Send + 'a,
    {
        self.bulk::<E>(entities.map(|entity| encoded(entity.as_entity(), Verb::Upsert)))
    }

    /// Writes entities from a stream of results as [`upsert_all`](Self::upsert_all) does. Its errors are those of
    /// [`try_insert_all_from`](Self::try_insert_all_from).
    pub fn try_upsert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: TryStream<Ok: AsEntity<E>, Error: Into<BoxError>> + Send + 'a,
    {
        self.bulk::<E>(given(entities).map(|entity| encoded(entity?.as_entity(), Verb::Upsert)))
    }

    /// Removes the entities with these keys. A missing entity is not a failure, and is counted as
    /// [`missing`](BulkProgress::missing).
    ///
    /// # Errors
    /// Returns the same errors as [`insert_all`](Self::insert_all).
    pub fn remove_all<'a, E, I>(&self, keys: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item = Point<E, Primary>, IntoIter: Send + 'a>,
    {
        self.remove_all_from(stream::iter(keys))
    }

    /// Removes entities with the keys from a stream, as [`remove_all`](Self::remove_all) does from an iterator.
    pub fn remove_all_from<'a, E: TableEntity>(
        &self,
        keys: impl Stream<Item = Point<E, Primary>> + Send + 'a,
    ) -> Bulk<'a> {
        self.bulk::<E>(keys.map(|key| Ok((write::point(key.plan())?, Verb::Remove))))
    }

    /// Removes entities with the keys from a stream of results, such as the keys of entities that a query reads. The
    /// errors are those of [`try_insert_all_from`](Self::try_insert_all_from).
    pub fn try_remove_all_from<'a, E, S>(&self, keys: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: TryStream<Ok = Point<E, Primary>, Error: Into<BoxError>> + Send + 'a,
    {
        self.bulk::<E>(given(keys).map(|key| Ok((write::point(key?.plan())?, Verb::Remove))))
    }

    fn bulk<'a, E: TableEntity>(&self, entities: impl Stream<Item = Result<Item>> + Send + 'a) -> Bulk<'a> {
        self.write_all(Schema::of::<E>(), entities)
    }

    /// Writes encoded entities.
    pub(crate) fn write_all<'a>(
        &self,
        schema: Schema,
        entities: impl Stream<Item = Result<Item>> + Send + 'a,
    ) -> Bulk<'a> {
        let (tables, side_by_side) = (self.clone(), self.backend().side_by_side());
        Bulk { tables, entities: Box::pin(entities), schema, side_by_side, on_progress: None }
    }
}

/// Returns the items of the stream, with its errors as those of this crate.
fn given<S: TryStream<Error: Into<BoxError>>>(items: S) -> impl Stream<Item = Result<S::Ok>> {
    items.map_err(|error| match error.into().downcast::<Error>() {
        Ok(own) => *own,
        Err(other) => Error::Source(other),
    })
}

fn encoded<E: TableEntity>(entity: &E, verb: fn(Encoded) -> Verb) -> Result<Item> {
    let encoded = Encoded::of(entity)?;
    Ok((encoded.primary().keys.clone(), verb(encoded)))
}

impl<'a> Bulk<'a> {
    /// Calls the function with the progress after each transaction.
    pub fn progress(mut self, on_progress: impl FnMut(&BulkProgress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Sets the maximum number of transactions in flight, at least one. The default is 16 on the service. On the embedded
    /// store it is 1,000, because the transactions that wait while a commit reaches the disk share the next one.
    ///
    /// A bulk write begins with the default, or with this maximum if it is smaller. On the service, it then adapts to
    /// the answers. While the service is not overloaded, the number of transactions in flight doubles after each window
    /// of as many transactions, up to the maximum. An answer of 429 or 503, or a slow one (`AzureBuilder::slow_after`),
    /// halves it, at most once in a window, down to one. After that, it grows by one in each window without such an
    /// answer. Requests of other users of the same backend count too. The requests that the service refused are sent
    /// again after the time that it asks for (`Retry-After`), as `AzureBackend` describes.
    pub fn side_by_side(mut self, transactions: usize) -> Self {
        self.side_by_side = transactions.max(1);
        self
    }
}

impl<'a> IntoFuture for Bulk<'a> {
    type Output = Result<BulkProgress>;
    type IntoFuture = BoxFuture<'a, Result<BulkProgress>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { tables, entities, schema, side_by_side, on_progress } = self;
        Box::pin(BulkWriter::new(tables, schema, side_by_side, on_progress, entities).run())
    }
}

impl fmt::Debug for Bulk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("side_by_side", &self.side_by_side).finish_non_exhaustive()
    }
}
