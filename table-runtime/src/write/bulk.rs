//! Writes of many entities, packed into transactions that run concurrently.

mod batching;
mod delete;
mod load;
mod send;

use std::{convert::Infallible, fmt, future::IntoFuture, pin::Pin};

use futures_core::{Stream, TryStream};
use futures_util::{StreamExt, TryStreamExt, stream};
use table_model::TableEntity;
use table_store::{
    Error, Result,
    backend::BoxFuture,
    error::BulkProgress,
    unstable::observe::{Running, observed},
};

use crate::{
    client::tables::Tables,
    write::{
        index::{EntityWrite, Schema, Verb},
        writable::{AsEntity, AsKey},
    },
};
pub use delete::{Deletion, Deletions, WholeEntities, member_deletion};
use load::BulkWriter;
pub(crate) use send::is_of_entity;

/// Number of failures after which a bulk write ends.
const FAILURES: usize = 10_000;

/// A write of many entities, which runs when it is awaited: see [`Tables::insert_all`].
#[must_use = "nothing is written until it is awaited"]
pub struct Bulk<'a> {
    tables: Tables,
    entities: Input<'a>,
    /// Schemas of the entities. The first one names the operation.
    schemas: Vec<Schema>,
    /// The only index whose rows are written; `None` if whole entities are.
    reindexed: Option<usize>,
    source: SourceKind,
    verb: &'static str,
    side_by_side: usize,
    on_progress: Option<BulkCallback<'a>>,
}

/// The source of the entities of a bulk write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceKind {
    /// It may wait until the entities that it yielded are written.
    User,
    /// It waits for requests of its own alone.
    Query,
    /// It is a query whose entities are only counted.
    Counted,
}

/// The input: entities or keys, encoded as they arrive.
type Input<'a> = Pin<Box<dyn Stream<Item = Result<TypedWrite>> + Send + 'a>>;
/// The write of an entity, with the parts of the entity's type that it needs.
pub(crate) type TypedWrite = (Schema, EntityWrite);

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
    /// the other entities of its transaction are written without it. Entities that have expired make way, as for
    /// [`insert`](Self::insert).
    ///
    /// On the service, entities with index rows in other partitions are written in steps, each step of many entities in
    /// one transaction: with two such indexes and 100 entities of one partition whose index rows share partitions too,
    /// 4 requests for 100 entities. An index row in a partition of its own takes a request of its own. Many entities are
    /// in flight at the same time. An insert that takes so long that another writer treats it as abandoned begins anew,
    /// and fails with [`Error::Aborted`](crate::Error::Aborted) after 200 attempts.
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
    /// early](crate::error::BulkError::ended_early) at an error that does not concern a single entity, such as a store that
    /// does not answer, and after 10,000 failures of any kind. To continue, start at
    /// [`resume_from`](crate::error::BulkError::resume_from), best with [`upsert_all`](Self::upsert_all), which can also write
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
        self.try_insert_all_from(entities.map(Ok::<_, Infallible>))
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
        let writes = given(entities).map(|entity| EntityWrite::put(Verb::Insert, entity?.as_entity()));
        self.write_all(Schema::of::<E>(), "insert_all", writes)
    }

    /// Writes entities, new or in place of those with the same keys, as [`insert_all`](Self::insert_all) does. A
    /// program may repeat the write, which overwrites what others wrote meanwhile. An entity that occurs twice in the
    /// input is written twice, in the order of the input. Entities with indexes are read first.
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
        self.try_upsert_all_from(entities.map(Ok::<_, Infallible>))
    }

    /// Writes entities from a stream of results as [`upsert_all`](Self::upsert_all) does. Its errors are those of
    /// [`try_insert_all_from`](Self::try_insert_all_from).
    pub fn try_upsert_all_from<'a, E, S>(&self, entities: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: TryStream<Ok: AsEntity<E>, Error: Into<BoxError>> + Send + 'a,
    {
        let writes = given(entities).map(|entity| EntityWrite::put(Verb::Upsert, entity?.as_entity()));
        self.write_all(Schema::of::<E>(), "upsert_all", writes)
    }

    /// Removes entities, given by their keys or as they were read, in any version. Their index rows are removed with
    /// them. A missing entity is not a failure, and is counted as [`missing`](BulkProgress::missing). Entities that have
    /// expired, or are in the bin, are removed like any other.
    ///
    /// An entity with indexes that is given by its key is read first. One that was read, a [`Stored`](crate::Stored), is not, unless it
    /// has changed since.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// tables.remove_all((0..1000).map(|number| Post::key("Marcus", number))).await?;
    /// let drafts = Post::by_key("Marcus").filter(|post| post.title.eq("draft")).all(&tables).await?;
    /// tables.remove_all(&drafts).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`insert_all`](Self::insert_all).
    pub fn remove_all<'a, E, I>(&self, keys: I) -> Bulk<'a>
    where
        E: TableEntity,
        I: IntoIterator<Item: AsKey<E>, IntoIter: Send + 'a>,
    {
        self.remove_all_from(stream::iter(keys))
    }

    /// Removes the entities of a stream, given by their keys or as they were read, as [`remove_all`](Self::remove_all)
    /// does from an iterator.
    pub fn remove_all_from<'a, E, S>(&self, keys: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: Stream<Item: AsKey<E>> + Send + 'a,
    {
        self.try_remove_all_from(keys.map(Ok::<_, Infallible>))
    }

    /// Removes the entities of a stream of results, such as another query, as [`remove_all`](Self::remove_all) does. The
    /// errors are those of [`try_insert_all_from`](Self::try_insert_all_from).
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// tables.try_remove_all_from(Post::by_key("Marcus").stream(&tables)).await?;
    /// # Ok(()) }
    /// ```
    pub fn try_remove_all_from<'a, E, S>(&self, keys: S) -> Bulk<'a>
    where
        E: TableEntity,
        S: TryStream<Ok: AsKey<E>, Error: Into<BoxError>> + Send + 'a,
    {
        self.write_all(Schema::of::<E>(), "remove_all", given(keys).map(|key| key?.removal().0))
    }

    /// Writes encoded entities.
    pub(crate) fn write_all<'a>(
        &self,
        schema: Schema,
        verb: &'static str,
        entities: impl Stream<Item = Result<EntityWrite>> + Send + 'a,
    ) -> Bulk<'a> {
        let entities = entities.map_ok(move |entity| (schema, entity));
        Bulk { source: SourceKind::User, ..self.write_found(vec![schema], verb, entities) }
    }

    /// Writes entities of several types, as queries find them.
    pub(crate) fn write_found<'a>(
        &self,
        schemas: Vec<Schema>,
        verb: &'static str,
        entities: impl Stream<Item = Result<TypedWrite>> + Send + 'a,
    ) -> Bulk<'a> {
        let (tables, side_by_side) = (self.clone(), self.backend().side_by_side());
        let entities = Box::pin(entities);
        let (source, reindexed, on_progress) = (SourceKind::Query, None, None);
        Bulk { tables, entities, schemas, reindexed, source, verb, side_by_side, on_progress }
    }

    /// Writes the rows of entities in one index.
    pub(crate) fn reindex_all<'a>(&self, schema: Schema, layout: usize, writes: Vec<EntityWrite>) -> Bulk<'a> {
        let writes = stream::iter(writes.into_iter().map(Ok));
        Bulk { reindexed: Some(layout), ..self.write_all(schema, "reindex", writes) }
    }
}

/// Returns the items of the stream, with its errors as those of this crate.
fn given<S: TryStream<Error: Into<BoxError>>>(items: S) -> impl Stream<Item = Result<S::Ok>> {
    items.map_err(|error| match error.into().downcast::<Error>() {
        Ok(own) => *own,
        Err(other) => Error::Source(other),
    })
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

impl<'a> Bulk<'a> {
    /// Sets the options of a job.
    pub(crate) fn of_job(
        self,
        on_progress: Option<BulkCallback<'a>>,
        side_by_side: Option<usize>,
        is_dry: bool,
    ) -> Self {
        let source = if is_dry { SourceKind::Counted } else { self.source };
        Self { on_progress, side_by_side: side_by_side.unwrap_or(self.side_by_side), source, ..self }
    }

    /// Begins the operation that is observed; `None` if nobody observes it.
    pub(crate) fn begin(&self) -> Option<Box<Running>> {
        self.schemas.first().and_then(|first| self.tables.begin_operation(|| first.operation(self.verb)))
    }

    /// Writes the entities, as a part of another operation.
    pub(crate) async fn run(self) -> Result<BulkProgress> {
        BulkWriter::new(self).run().await
    }
}

impl<'a> IntoFuture for Bulk<'a> {
    type Output = Result<BulkProgress>;
    type IntoFuture = BoxFuture<'a, Result<BulkProgress>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(observed(self.begin(), self.run()))
    }
}

impl fmt::Debug for Bulk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("side_by_side", &self.side_by_side).finish_non_exhaustive()
    }
}
