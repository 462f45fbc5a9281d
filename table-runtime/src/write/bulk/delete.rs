//! Deletion of what a query finds.

use futures_util::{StreamExt, stream};
use table_store::Result;

use super::{Bulk, TypedWrite};
use crate::{
    client::tables::Tables,
    model::entity::{Stored, StoredState, TableEntity, WriteEntity},
    query::{Entities, EntityGroup, Opened, Rows, View},
    read::FoundRow,
    write::index::{EntityWrite, Schema},
};

/// Entities that [`delete_all`](Rows::delete_all) deletes: those of one type, or a group of several.
#[diagnostic::on_unimplemented(
    message = "`delete_all` deletes entities, not `{Self}`",
    label = "a query of copies or of a projection",
    note = "run it on the query without `select`; of an index with `copy`, delete by the primary key: `T::by_key(…)`"
)]
pub trait WholeEntities: View {
    /// Returns the types of the entities; of a group, in the order of its variants.
    #[doc(hidden)]
    fn schemas() -> Vec<Schema>;

    /// Returns the deletion of the entity in a row; `None` if the row is no match. If `in_version`, the row must not change
    /// meanwhile.
    #[doc(hidden)]
    fn deletion(found: &FoundRow<'_>, in_version: bool) -> Result<Option<Deletion>>;
}

/// The deletion of an entity that was found.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "no user has one")]
pub struct Deletion(TypedWrite);

impl Deletion {
    fn new(schema: Schema, entity: &dyn WriteEntity, state: &StoredState, in_version: bool) -> Result<Self> {
        let delete = if in_version { EntityWrite::delete } else { EntityWrite::remove_read };
        Ok(Self((schema, delete(entity, state)?)))
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> WholeEntities for E {
    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<E>()]
    }

    fn deletion(found: &FoundRow<'_>, in_version: bool) -> Result<Option<Deletion>> {
        let mut deletion = None;
        found.entity(|stored: Stored<E>| {
            let (entity, state) = stored.parts();
            deletion = Some(Deletion::new(Schema::of::<E>(), entity, state, in_version));
        })?;
        deletion.transpose()
    }
}

/// Returns the deletion of a member of a group.
pub fn member_deletion<G: EntityGroup + WholeEntities>(
    found: &FoundRow<'_>,
    in_version: bool,
) -> Result<Option<Deletion>> {
    let Some((member, state)) = found.stored_member::<G>()? else { return Ok(None) };
    let (variant, entity) = member.member();
    Deletion::new(G::schemas()[variant], entity, &state, in_version).map(Some)
}

impl<V, P, A> Rows<V, P, A> {
    /// Deletes the entities that the query finds, with their index rows, while it reads them. Await it, as the result of
    /// [`remove_all`](Tables::remove_all): [`progress`](Bulk::progress) reports how many are deleted, and
    /// [`take`](Self::take) limits them. [`Tables::delete_all`] deletes what several queries find.
    ///
    /// The entities of a partition are deleted in transactions of up to 100 rows, index rows included, several at the same
    /// time. So a master and its items, which the query of a [group](crate::EntityGroup) finds, are deleted in one
    /// transaction if they have at most 100 rows and none in other partitions; an index with `list` counts as up to four rows
    /// for each entity. An entity that another writer has changed, if that matters, stays, and so does one that cannot be
    /// read: the others are deleted. No entity is read a second time for its index
    /// rows: besides the requests of the query, 1000 entities of one partition without indexes take 10 requests. A deletion
    /// of more rows is no transaction as a whole. It can be stopped at any time, also by dropping its future, and run again.
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
    pub fn delete_all<'a>(self, tables: &Tables) -> Bulk<'a>
    where
        V: WholeEntities,
        A: Opened,
    {
        tables.delete_all(self)
    }
}

/// One query, or a tuple of up to eight queries, whose entities [`Tables::delete_all`] deletes.
#[diagnostic::on_unimplemented(
    message = "`delete_all` deletes what queries find, and `{Self}` is no query of entities",
    label = "neither a query nor a tuple of queries",
    note = "write `tables.delete_all((Post::by_key(author), Comment::by_key(author)))`, or `query.delete_all(&tables)`",
    note = "keys, or entities that were read: `tables.remove_all(keys)`"
)]
pub trait Deletions {
    #[doc(hidden)]
    fn add_schemas(&self, schemas: &mut Vec<Schema>);

    #[doc(hidden)]
    fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>);
}

#[diagnostic::do_not_recommend]
impl<V: WholeEntities, P, A: Opened> Deletions for Rows<V, P, A> {
    fn add_schemas(&self, schemas: &mut Vec<Schema>) {
        schemas.extend(V::schemas());
    }

    fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>) {
        let in_version = self.finds_by_value();
        deletions.push(self.part_stream(tables, move |found, deletions| {
            let deletion = V::deletion(found, in_version)?;
            let is_match = deletion.is_some();
            deletions.extend(deletion);
            Ok(is_match)
        }));
    }
}

macro_rules! tuples {
    ($(($($query:ident)+))+) => {$(
        #[diagnostic::do_not_recommend]
        #[allow(non_snake_case, reason = "each query has the name of its type")]
        impl<$($query: Deletions),+> Deletions for ($($query,)+) {
            fn add_schemas(&self, schemas: &mut Vec<Schema>) {
                let ($($query,)+) = self;
                $($query.add_schemas(schemas);)+
            }

            fn add_deletions(self, tables: &Tables, deletions: &mut Vec<Entities<Deletion>>) {
                let ($($query,)+) = self;
                $($query.add_deletions(tables, deletions);)+
            }
        }
    )+};
}

tuples! {
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
}

impl Tables {
    /// Deletes what several queries find, one after the other, as [`Rows::delete_all`] does: for example all entities of a
    /// tenant, in all tables that have its partition. The progress and the failures are those of all queries.
    ///
    /// Queries whose entities share a partition of one table, such as those of a master and of its items, share transactions,
    /// unless the entities of one of the queries have an index in another partition. An error of one query does not stop the
    /// others.
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
    pub fn delete_all<'a>(&self, queries: impl Deletions) -> Bulk<'a> {
        let (mut schemas, mut deletions) = (Vec::new(), Vec::new());
        queries.add_schemas(&mut schemas);
        queries.add_deletions(&self.of_primary(), &mut deletions);
        let deletions = stream::iter(deletions).flatten().map(|deletion| deletion.map(|Deletion(write)| write));
        self.write_found(schemas, "delete_all", deletions)
    }
}
