//! Deletion of what queries find.

use table_store::{Error, Result, error::BulkProgress, unstable::observe::Running};

use super::job::{Job, JobKind, JobOptions, Rehearsable};
use crate::{
    client::tables::Tables,
    query::{Opened, Rows},
    write::bulk::{Bulk, Deletions, WholeEntities},
};

/// A deletion of what queries find: see [`Rows::delete_all`].
#[derive(Debug)]
pub struct DeleteAll(Bulk<'static>);

impl Rehearsable for DeleteAll {}

impl JobKind for DeleteAll {
    type Done = BulkProgress;
    type Error = Error;
    type Progress = BulkProgress;

    fn begin(&self) -> Option<Box<Running>> {
        self.0.begin()
    }

    async fn run(self, options: JobOptions<'_, BulkProgress>) -> Result<BulkProgress> {
        let JobOptions { on_progress, side_by_side, dry_run, .. } = options;
        self.0.of_job(on_progress, side_by_side, dry_run).run().await
    }
}

impl<V, P, A> Rows<V, P, A> {
    /// Deletes the entities that the query finds, with their index rows, while it reads them. Await it, as the result of
    /// [`remove_all`](Tables::remove_all): [`progress`](Job::progress) reports how many are deleted, and
    /// [`take`](Self::take) limits them. A [dry run](Job::dry_run) deletes none: the number of those that it finds is `read`.
    /// [`Tables::delete_all`] deletes what several queries find.
    ///
    /// The entities of a partition are deleted in transactions of up to 100 rows, index rows included, several at the same
    /// time. So a master and its items, which the query of a [group](crate::EntityGroup) finds, are deleted in one
    /// transaction if they have at most 100 rows in their partition; an index with `list` counts as up to four rows for each
    /// entity. An entity that another writer has changed, if that matters, stays, and so does one that cannot be read: the
    /// others are deleted. No entity is read a second time for its index rows: besides the requests of the query, 1000
    /// entities of one partition without indexes take 10 requests. A deletion of more rows is no transaction as a whole. It
    /// can be stopped at any time, also by dropping its future, and run again.
    /// To delete all rows of a table with slices, see [`drop_slices`](Tables::drop_slices).
    ///
    /// The query reads the primary region, also on a handle [with secondary reads](Tables::with_secondary_reads).
    ///
    /// An entity that another writer deletes first counts as [`missing`](crate::bulk::BulkProgress::missing). The entities of a
    /// transaction whose answer was lost are failures with [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). A row that
    /// cannot be read stays, and its error is a failure.
    ///
    /// An entity that another writer changes meanwhile is deleted nevertheless if the query names it by its key. With a
    /// [`filter`](Self::filter), over an index, or of an entity with a bin, the query might no longer find the changed
    /// entity. It stays, and is a failure with [`Error::ConditionNotMet`](crate::Error::ConditionNotMet). Run the query
    /// again to decide on it.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Session { #[partition_key] user: String, #[row_key] id: u32, expired: bool }
    /// # async fn example(tables: Tables) -> Result<()> {
    /// let expired = Session::by_key("ada").filter(|session| session.expired.eq(true));
    /// let deleted = expired.delete_all(&tables).progress(|so_far| println!("{}", so_far.written)).await?;
    /// println!("{} sessions", deleted.written);
    /// # Ok(()) }
    /// # let tables = Tables::in_memory()?;
    /// # futures::executor::block_on(async { tables.create::<Session>().await?; example(tables).await })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Bulk`](crate::Error::Bulk) with the entities that were not deleted, and with the errors of the query.
    pub fn delete_all<'a>(self, tables: &Tables) -> Job<'a, DeleteAll>
    where
        V: WholeEntities,
        A: Opened,
    {
        tables.delete_all(self)
    }
}

impl Tables {
    /// Deletes what several queries find, one after the other, as [`Rows::delete_all`] does: for example all entities of a
    /// tenant, in all tables that have its partition. The progress and the failures are those of all queries.
    ///
    /// Queries whose entities share a partition of one table, such as those of a master and of its items, share transactions.
    /// An error of one query does not stop the others.
    ///
    /// ```
    /// use table_runtime::{Result, TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// struct Project {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key]
    ///     id: u32,
    /// }
    ///
    /// #[derive(TableEntity)]
    /// struct Comment {
    ///     #[partition_key]
    ///     tenant: String,
    ///     #[row_key]
    ///     project: u32,
    ///     #[row_key]
    ///     number: u32,
    /// }
    ///
    /// /// Deletes all that a tenant has, and returns the number of entities.
    /// async fn forget(tables: &Tables, tenant: &str) -> Result<usize> {
    ///     let deleted = tables.delete_all((Project::by_key(tenant), Comment::by_key(tenant))).await?;
    ///     Ok(deleted.written)
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Project>().and::<Comment>().await?;
    /// # for tenant in ["a", "b"] {
    /// #     tables.insert(&Project { tenant: tenant.into(), id: 1 }).await?;
    /// #     tables.insert_all((1..=3).map(|number| Comment { tenant: tenant.into(), project: 1, number })).await?;
    /// # }
    /// # assert_eq!(forget(&tables, "a").await?, 4);
    /// # assert_eq!(Comment::by_key("b").count(&tables).await?, 3);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::delete_all`].
    pub fn delete_all<'a>(&self, queries: impl Deletions) -> Job<'a, DeleteAll> {
        Job::new(DeleteAll(self.deletion(queries)))
    }
}
