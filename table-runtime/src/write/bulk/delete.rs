//! Deletion of what a query finds.

use futures_util::StreamExt;

use super::Bulk;
use crate::{
    client::tables::Tables,
    model::entity::TableEntity,
    query::{Opened, Rows},
    write::index::{EntityWrite, Schema},
};

impl<E: TableEntity, P, A: Opened> Rows<E, P, A> {
    /// Deletes the entities that the query finds, with their index rows, while it reads them. Await it, as the result of
    /// [`remove_all`](Tables::remove_all): [`progress`](Bulk::progress) reports how many are deleted, and
    /// [`take`](Self::take) limits them.
    ///
    /// The entities of a partition are deleted in transactions of up to 100 rows, index rows included, several at the same
    /// time. No entity is read a second time for its index rows: besides the requests of the query, 1000 entities of one
    /// partition without indexes take 10 requests. The deletion as a whole is no transaction. It can be stopped at any
    /// time, also by dropping its future, and run again. To delete all rows of a table with slices, see
    /// [`drop_slices`](Tables::drop_slices).
    ///
    /// The query reads the primary region, also on a handle [with secondary reads](Tables::with_secondary_reads).
    ///
    /// An entity that another writer deletes first counts as [`missing`](crate::bulk::BulkProgress::missing). The entities of a
    /// transaction whose answer was lost are failures with [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown).
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
    /// Returns [`Error::Bulk`](crate::Error::Bulk) with the entities that were not deleted, and with an error of the query
    /// as the last failure.
    pub fn delete_all<'a>(self, tables: &Tables) -> Bulk<'a> {
        let delete = if self.finds_by_value() { EntityWrite::delete } else { EntityWrite::remove_read };
        let entities = self.part_stream(&tables.of_primary()).map(move |stored| {
            let stored = stored?;
            let (entity, state) = stored.parts();
            delete(entity, state)
        });
        tables.write_all(Schema::of::<E>(), "delete_all", entities)
    }
}
