//! Entity group transactions: writes of entities of one partition, all or nothing.

use std::fmt;

use table_model::{Sets, TableEntity, unstable::entity::WriteEntity};
use table_store::{
    ETag, Error, Result,
    error::LimitError,
    unstable::observe::{ObservedOperation, observed},
};

use crate::{
    client::{stored::StoredState, tables::Tables},
    query::OwnKey,
    read::Plan,
    write::{
        index::{self, BegunWrite, EntityWrite, Schema, Verb, WrittenEntity},
        verbs,
        writable::{AsEntity, AsKey, Deletable, Updatable},
    },
};

/// Writes of entities of one partition and table, all or nothing: see [`Tables::transaction`].
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction<'a> {
    tables: Tables,
    writes: Vec<BegunWrite>,
    /// The entities that are updated, by the positions of their writes.
    updated: Vec<(usize, &'a mut StoredState)>,
    /// The first mistake, which the commit returns as its error.
    problem: Option<Error>,
}

impl Tables {
    /// Begins a transaction: writes of any entities of one partition of one table, including their index rows, also those
    /// in other partitions. Readers see all of them or none; copies in other partitions follow. The limits are 100 rows in the partition, and 4 MiB as
    /// they are sent.
    ///
    /// An entity that is deleted can be inserted again in the same transaction, and entities can swap the values of a
    /// unique index in their partition. Otherwise each entity has one write. A transaction is never split: if it is too
    /// large, the commit returns an error.
    ///
    /// On the service, no transaction spans partitions, so index rows in other partitions are written
    /// [in steps](crate::index), with one commit for all entities. A unique value of such an index cannot pass from one
    /// entity of a transaction to another: the commit returns [`Error::UniqueViolation`], on every store. Write first the
    /// entity that gives the value up.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables, first: Post, second: Post) -> Result<()> {
    /// let Some(mut third) = Post::key("Marcus", 3).get(&tables).await? else { return Ok(()) };
    /// third.likes += 1;
    /// tables
    ///     .transaction()
    ///     .insert(&first)
    ///     .upsert(&second)
    ///     .update(&mut third)
    ///     .patch(Post::key("Marcus", 4), |post| post.likes.set(0))
    ///     .remove(Post::key("Marcus", 5))
    ///     .commit()
    ///     .await?;
    ///
    /// // Many at once.
    /// tables.transaction().remove_all((10..20).map(|number| Post::key("Marcus", number))).commit().await?;
    /// # Ok(()) }
    /// ```
    pub fn transaction<'a>(&self, /* no closure: `.transaction().insert(&post).commit().await?` */) -> Transaction<'a> {
        Transaction { tables: self.clone(), writes: Vec::new(), updated: Vec::new(), problem: None }
    }
}

impl<'a> Transaction<'a> {
    fn with(mut self, schema: Schema, entity: Result<EntityWrite>) -> Self {
        match self.tables.begin_write(schema, entity) {
            Ok(write) => self.writes.push(write),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    fn put_erased(self, schema: Schema, verb: Verb, entity: &dyn WriteEntity) -> Self {
        self.with(schema, EntityWrite::put(verb, entity))
    }

    /// Writes a new row, also over that of an entity that has expired: see [`Tables::insert`].
    pub fn insert<E: TableEntity>(self, entity: &(impl AsEntity<E> + ?Sized)) -> Self {
        self.put_erased(Schema::of::<E>(), Verb::Insert, entity.as_entity())
    }

    /// Writes new rows, as [`insert`](Self::insert) does. A transaction holds up to 100 rows, and
    /// [`Tables::insert_all`] writes any number of entities, in several transactions.
    ///
    /// ```
    /// # use table_runtime::{Result, Stored, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Line { #[partition_key] order: u64, #[row_key] number: u32, count: u32 }
    /// /// Adds lines to an order, and changes others.
    /// async fn change(tables: &Tables, added: &[Line], changed: &mut [Stored<Line>]) -> Result<()> {
    ///     tables.transaction().insert_all(added).update_all(changed).commit().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn insert_all<E: TableEntity>(self, entities: impl IntoIterator<Item: AsEntity<E>>) -> Self {
        entities.into_iter().fold(self, |transaction, entity| transaction.insert(entity.as_entity()))
    }

    /// Writes the row, new or in place of the one with this key. If the entity has indexes, the commit reads it first.
    pub fn upsert<E: TableEntity>(self, entity: &(impl AsEntity<E> + ?Sized)) -> Self {
        self.put_erased(Schema::of::<E>(), Verb::Upsert, entity.as_entity())
    }

    /// Writes rows, new or in place of those with these keys, as [`upsert`](Self::upsert) does.
    pub fn upsert_all<E: TableEntity>(self, entities: impl IntoIterator<Item: AsEntity<E>>) -> Self {
        entities.into_iter().fold(self, |transaction, entity| transaction.upsert(entity.as_entity()))
    }

    /// Inserts the entity, or writes it over the present one and keeps the properties of the row that the struct does
    /// not know. The commit reads the row first. See [`Tables::merge`].
    pub fn merge<E: TableEntity>(self, entity: &(impl AsEntity<E> + ?Sized)) -> Self {
        self.put_erased(Schema::of::<E>(), Verb::Merge, entity.as_entity())
    }

    /// Writes the changed entity back, if its row has not changed since it was read. Properties that the struct does not
    /// know are kept. The commit sets the new ETag in `stored`.
    pub fn update<S: Updatable>(self, stored: &'a mut S) -> Self {
        let (entity, state) = stored.as_read_mut().parts_mut();
        let mut transaction = self.with(Schema::of::<S::Entity>(), EntityWrite::update(entity, state));
        transaction.updated.push((transaction.writes.len().saturating_sub(1), state));
        transaction
    }

    /// Writes changed entities back, as [`update`](Self::update) does: `update_all(&mut posts)`.
    pub fn update_all<S: Updatable + 'a>(self, stored: impl IntoIterator<Item = &'a mut S>) -> Self {
        stored.into_iter().fold(self, Self::update)
    }

    /// Sets some properties of a row, whatever its version, and keeps its other properties.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I, By>(self, key: K, sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I) -> Self
    where
        K: OwnKey<Entity: TableEntity>,
        I: Sets<K::Entity, By>,
    {
        self.patched(key.plan(), None, sets(<K::Entity as TableEntity>::COLUMNS))
    }

    /// Sets some properties of a row, if it still has this version, and keeps its other properties.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch_if<K, I, By>(
        self,
        key: K,
        etag: &ETag,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> Self
    where
        K: OwnKey<Entity: TableEntity>,
        I: Sets<K::Entity, By>,
    {
        self.patched(key.plan(), Some(etag.clone()), sets(<K::Entity as TableEntity>::COLUMNS))
    }

    fn patched<E: TableEntity, By>(self, key: &Plan, expected: Option<ETag>, sets: impl Sets<E, By>) -> Self {
        self.with(Schema::of::<E>(), verbs::patched(key, expected, sets))
    }

    /// Deletes the row of the entity, if it has not changed since it was read.
    #[allow(clippy::needless_pass_by_value, reason = "an entity or a reference")]
    pub fn delete<S: Deletable>(self, stored: S) -> Self {
        let (entity, state) = stored.as_read().parts();
        self.with(Schema::of::<S::Entity>(), EntityWrite::delete(entity, state))
    }

    /// Deletes the row with this key, whatever its version. A missing row is an error here. If the entity has indexes,
    /// also those of other programs, the commit reads it first: see [`Tables::remove`].
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(self, key: K) -> Self
    where
        K: OwnKey<Entity: TableEntity>,
    {
        self.with(Schema::of::<K::Entity>(), key.plan().row_keys().map(EntityWrite::remove))
    }

    /// Deletes the rows of entities, given by their keys or as they were read, as [`remove`](Self::remove) does.
    /// A missing row is an error, unlike in [`Tables::remove_all`].
    pub fn remove_all<E: TableEntity>(self, keys: impl IntoIterator<Item: AsKey<E>>) -> Self {
        keys.into_iter().fold(self, |transaction, key| transaction.with(Schema::of::<E>(), key.removal().0))
    }

    /// Applies the transaction. Returns the new ETags in order; `None` for a deleted row.
    ///
    /// One request commits all. On the service, index rows in other partitions take more: one request for all pending
    /// entities, if an inserted one has such rows; one for each row that is added, and two for each that is removed, so three
    /// for each that moves. That is `1 + p + a + 2r` requests. [Copies](crate::index#requests), included properties and
    /// lists take what they take of a single write. Reads come in addition: one for each merge, for each upsert and removal of an entity with indexes, for each update of a
    /// [`Stored::new`](crate::Stored::new), and for each deletion of a [`Stored::new`](crate::Stored::new) with indexes.
    ///
    /// If the answer is lost, one row with a `write_id` proves that the whole transaction was applied. The ETags of
    /// rows without a `write_id`, or that were patched since, are then unknown, and returned as `None`: read such a row
    /// again before you update it.
    ///
    /// # Errors
    /// Returns the first error that concerns any of the writes. The errors are those of [`insert`](Tables::insert),
    /// [`update`](Tables::update) and the other verbs, and name the row. Returns [`Error::Limit`] for writes to several
    /// partitions or tables, for no writes, for more than 100 rows or 4 MiB, and for two writes to one row; as far as
    /// this is known in advance, before anything is sent; and for a deletion and an insert of one key if the types differ and
    /// the new entity has index rows in other partitions. Readers see no change, unless the error is
    /// [`Error::OutcomeUnknown`]. After any error, the `Stored` of an update keeps the entity as it was given, and gets the
    /// new ETag if a roll back of index rows gave its row one.
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        let schema = self.writes.first().map(|first| first.write.schema);
        let operation = || match schema {
            Some(schema) => schema.operation("transaction"),
            None => ObservedOperation { verb: "transaction", entity: "", table: "", cost: None },
        };
        observed(self.tables.begin_operation(operation), self.committed()).await
    }

    async fn committed(self) -> Result<Vec<Option<ETag>>> {
        let Self { mut writes, updated, problem, .. } = self;
        if let Some(problem) = problem {
            return Err(problem);
        }
        let mut written = execute(&mut writes).await;
        for (at, stored) in updated {
            match written.as_mut().map(|written| &mut written[at]) {
                Ok(WrittenEntity { etag: Some(etag), unknown, .. }) => stored.written(etag.clone(), unknown.take()),
                Ok(_) => {}
                // A roll back may have given the row another version.
                Err(_) => {
                    if let Some(version) = writes[at].entity.version() {
                        stored.set_etag(version);
                    }
                }
            }
        }
        Ok(written?.into_iter().map(|written| written.etag).collect())
    }
}

/// Applies the writes, all or none.
pub(super) async fn execute(writes: &mut [BegunWrite]) -> Result<Vec<WrittenEntity>> {
    check_partition(writes)?;
    index::check(writes)?;
    index::execute(writes).await.map_err(|failure| failure.error)
}

/// Checks that all writes are to one partition of one table.
fn check_partition(writes: &[BegunWrite]) -> Result<()> {
    let what = "the transaction has".to_owned();
    let Some(first) = writes.first() else {
        let (table, found) = (String::new(), "no writes".to_owned());
        return Err(Box::new(LimitError::new(table, None, what, found, "1 to 100")).into());
    };
    let first = first.row_id()?;
    for other in writes {
        let row = other.row_id()?;
        if (&row.table, &row.partition_key) != (&first.table, &first.partition_key) {
            let (table, found, limit) = (row.table.clone(), format!("{first} as well"), "one partition of one table");
            return Err(Box::new(LimitError::new(table, Some(row), what, found, limit)).into());
        }
    }
    Ok(())
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}
