//! Entity group transactions: writes of entities of one partition, all or nothing.

mod hints;

use std::{fmt, future::Ready};

use crate::{
    ETag, Error, LimitError, OnePartition, OneVersion, Properties, Result, RowId, TableEntity, Tables,
    backend::{Action, BoxFuture, IfMatch},
    column::Sets,
    entity::{Loaded, StoredState, WriteEntity},
    hints::{Commit, TableStorage, missing},
    index::{Change, Encoded, InTheWay, Occupant, Planned, Schema, Write, check, commit},
    observe::{Operation, observed},
    pacing,
    query::OwnKey,
    read::Plan,
    row::RowKeys,
    writable::{Deletable, Updatable, Writable},
    write,
};

/// Writes of entities of one partition and table, all or nothing: see [`Tables::transaction`].
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction<'a> {
    tables: Tables,
    writes: Vec<EntityWrite<'a>>,
    /// The first mistake, which the commit returns as its error.
    problem: Option<Error>,
}

/// A write of one entity.
pub(crate) struct EntityWrite<'a> {
    pub(crate) write: Write,
    pub(crate) keys: RowKeys,
    pub(crate) verb: Verb,
    pub(crate) stored: Option<&'a mut StoredState>,
}

pub(crate) enum Verb {
    Insert(Encoded),
    Upsert(Encoded),
    Merge(Encoded),
    /// Update of the entity as it was loaded; `None` if it has to be read.
    Update(Option<Loaded>, ETag, Encoded),
    /// Change of properties, if the row satisfies the condition.
    Patch(Properties, IfMatch),
    /// Deletion of the entity as it was loaded; `None` if it has to be read.
    Delete(Option<Loaded>, ETag),
    /// Deletion in any version. If the entity is known as it was loaded, that version is tried first, without a read.
    Remove(Option<(Loaded, ETag)>),
}

impl EntityWrite<'_> {
    pub(crate) fn row_id(&self) -> Result<RowId> {
        Ok(RowId::of(&self.write.table_of(&self.keys)?, &self.keys))
    }

    /// Checks whether the stored row has to be read in any version, because index rows or properties depend on it.
    pub(crate) fn reads(&self) -> bool {
        match self.verb {
            Verb::Merge(_) => true,
            Verb::Upsert(_) => self.write.schema.has_indexes(),
            Verb::Remove(None) => self.write.reads_removed(),
            _ => false,
        }
    }

    /// Checks whether the stored row has to be read.
    fn depends_on_stored(&self) -> bool {
        self.reads() || matches!(self.verb, Verb::Update(None, ..) | Verb::Delete(None, _))
    }

    /// Reads the stored entity, if the write depends on it.
    ///
    /// # Errors
    /// Returns an error if the row belongs to an entity of another kind, if there is no entity to remove, or if the
    /// entity does not have the version that the write requires.
    async fn read(&self) -> Result<RowsBefore> {
        if let Verb::Update(None, etag, _) | Verb::Delete(None, etag) = &self.verb {
            let old = self.write.load(&self.keys, etag).await?;
            return Ok(Some((old, IfMatch::ETag(etag.clone()))));
        }
        if !self.reads() {
            return Ok(None);
        }
        match (self.write.occupant(&self.keys).await?, &self.verb) {
            (Occupant::Entity(found), Verb::Remove(_)) if found.pending.is_some() => {
                Err(Error::NotFound(Box::new(self.row_id()?)))
            }
            (Occupant::Entity(found), _) => {
                let version = IfMatch::ETag(found.row.etag.clone());
                Ok(Some((found.into_loaded(), version)))
            }
            (_, Verb::Remove(_)) => Err(Error::NotFound(Box::new(self.row_id()?))),
            (Occupant::OtherKind, _) => Err(Error::AlreadyExists(Box::new(self.row_id()?))),
            (Occupant::None, _) => Ok(None),
        }
    }

    /// Returns the result of [`read`](Self::read) for the case that exactly this entity is already stored.
    fn if_unchanged(&self) -> RowsBefore {
        let loaded = |new: &Encoded| Loaded { rows: new.clone().into_loaded(), unknown: None };
        match &self.verb {
            Verb::Upsert(new) | Verb::Merge(new) if self.reads() => Some((loaded(new), IfMatch::Any)),
            Verb::Update(None, etag, new) => Some((loaded(new), IfMatch::ETag(etag.clone()))),
            _ => None,
        }
    }
}

/// The entity at the keys of a write, if the write depends on it, and the condition that it is still stored.
pub(crate) type RowsBefore = Option<(Loaded, IfMatch)>;

impl Tables {
    /// Begins a transaction: writes of any entities of one partition of one table, including their index rows. Either
    /// all of them are applied, or none. The limits are 100 rows, and 4 MiB as they are sent.
    ///
    /// An entity that is deleted can be inserted again in the same transaction, and entities can swap the values of a
    /// unique index. Otherwise each entity has one write. A transaction is never split: if it is too large, the commit
    /// returns an error.
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
    /// // Each verb returns the transaction, also in a loop.
    /// let mut more = tables.transaction();
    /// for number in 10..20 {
    ///     more = more.remove(Post::key("Marcus", number));
    /// }
    /// more.commit().await?;
    /// # Ok(()) }
    /// ```
    pub fn transaction<'a>(&self) -> Transaction<'a> {
        Transaction { tables: self.clone(), writes: Vec::new(), problem: None }
    }
}

impl<'a> Transaction<'a> {
    fn with(mut self, schema: Schema, write: Result<(RowKeys, Verb)>, stored: Option<&'a mut StoredState>) -> Self {
        let added = write.and_then(|(keys, verb)| {
            let write = Write::new(self.tables.clone(), schema)?;
            Ok(EntityWrite { write, keys, verb, stored })
        });
        match added {
            Ok(write) => self.writes.push(write),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    fn add_new(self, schema: Schema, entity: &dyn WriteEntity, verb: fn(Encoded) -> Verb) -> Self {
        let write = Encoded::of(entity).map(|new| (new.primary().keys.clone(), verb(new)));
        self.with(schema, write, None)
    }

    /// Writes a new row.
    pub fn insert<E: Writable<Entity: OnePartition> + ?Sized>(self, entity: &E) -> Self {
        self.add_new(Schema::of::<E::Entity>(), entity.as_entity(), Verb::Insert)
    }

    /// Writes the row, new or in place of the one with this key. If the entity has indexes, the commit reads it first.
    pub fn upsert<E: Writable<Entity: OnePartition> + ?Sized>(self, entity: &E) -> Self {
        self.add_new(Schema::of::<E::Entity>(), entity.as_entity(), Verb::Upsert)
    }

    /// Inserts the entity, or writes it over the present one and keeps the properties of the row that the struct does
    /// not know. The commit reads the row first. See [`Tables::merge`].
    pub fn merge<E: Writable<Entity: OnePartition> + ?Sized>(self, entity: &E) -> Self {
        self.add_new(Schema::of::<E::Entity>(), entity.as_entity(), Verb::Merge)
    }

    /// Writes the changed entity back, if its row has not changed since it was read. Properties that the struct does not
    /// know are kept. The commit sets the new ETag in `stored`.
    pub fn update<S: Updatable<Entity: OnePartition>>(self, stored: &'a mut S) -> Self {
        let (entity, state) = stored.to_update().parts_mut();
        self.with(Schema::of::<S::Entity>(), updated(entity, state), Some(state))
    }

    /// Sets some properties of a row, whatever its version, and keeps its other properties.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I>(self, key: K, sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I) -> Self
    where
        K: OwnKey<Entity: TableEntity + OnePartition + OneVersion>,
        I: Sets<K::Entity>,
    {
        self.patched(key.plan(), IfMatch::Any, sets(<K::Entity as TableEntity>::COLUMNS))
    }

    /// Sets some properties of a row, if it still has this version, and keeps its other properties.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch_if<K, I>(
        self,
        key: K,
        etag: &ETag,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> Self
    where
        K: OwnKey<Entity: TableEntity + OnePartition + OneVersion>,
        I: Sets<K::Entity>,
    {
        self.patched(key.plan(), IfMatch::ETag(etag.clone()), sets(<K::Entity as TableEntity>::COLUMNS))
    }

    fn patched<E: TableEntity>(self, key: &Plan, condition: IfMatch, sets: impl Sets<E>) -> Self {
        let patch = write::patched(key, sets).map(|(keys, properties)| (keys, Verb::Patch(properties, condition)));
        self.with(Schema::of::<E>(), patch, None)
    }

    /// Deletes the row of the entity, if it has not changed since it was read.
    #[allow(clippy::needless_pass_by_value, reason = "a reference")]
    pub fn delete<S: Deletable<Entity: OnePartition>>(self, stored: S) -> Self {
        let (entity, state) = stored.to_delete().parts();
        self.with(Schema::of::<S::Entity>(), deleted(entity, state), None)
    }

    /// Deletes the row with this key, whatever its version. A missing row is an error here. If the entity has indexes,
    /// also those of other programs, the commit reads it first: see [`Tables::remove`].
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(self, key: K) -> Self
    where
        K: OwnKey<Entity: TableEntity + OnePartition>,
    {
        self.with(Schema::of::<K::Entity>(), write::point(key.plan()).map(|keys| (keys, Verb::Remove(None))), None)
    }

    missing! {
        Commit:
            send() -> Ready<Result<()>>,
            execute() -> Ready<Result<()>>,
            run() -> Ready<Result<()>>,
            finish() -> Ready<Result<()>>,
    }

    /// Applies the transaction with one request, and one more for each merge, for each upsert and removal of an entity
    /// with indexes, for each update of a [`Stored::new`](crate::Stored::new), and for each deletion of a [`Stored::new`](crate::Stored::new) with indexes.
    /// Returns the new ETags in order; `None` for a deleted row.
    ///
    /// If the answer is lost, one row with a `write_id` proves that the whole transaction was applied. The ETags of
    /// rows without a `write_id`, or that were patched since, are then unknown, and returned as `None`: read such a row
    /// again before you update it.
    ///
    /// # Errors
    /// Returns the first error that concerns any of the writes. The errors are those of [`insert`](Tables::insert),
    /// [`update`](Tables::update) and the other verbs, and name the row. Returns [`Error::Limit`] for writes to several
    /// partitions or tables, for no writes, for more than 100 rows or 4 MiB, and for two writes to one row; as far as
    /// this is known in advance, before anything is sent. Nothing was written, unless the error is
    /// [`Error::OutcomeUnknown`].
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        let schema = self.writes.first().map(|first| first.write.schema);
        let operation = || match schema {
            Some(schema) => schema.operation("transaction"),
            None => Operation { verb: "transaction", entity: "", table: "", cost: None },
        };
        observed(self.tables.begin_operation(operation), self.committed()).await
    }

    async fn committed(self) -> Result<Vec<Option<ETag>>> {
        let Self { tables, mut writes, problem } = self;
        if let Some(problem) = problem {
            return Err(problem);
        }
        check_place(&writes)?;
        if writes.iter().any(EntityWrite::depends_on_stored) {
            // The check assumes that upserts and updates change nothing: other changes only add operations.
            let unchanged: Vec<_> = writes.iter().map(EntityWrite::if_unchanged).collect();
            check(&plan(&writes, &unchanged))?;
        }
        let mut delays = pacing::delays();
        let (etags, read) = loop {
            let read = read(&writes).await?;
            match send(&writes, &read, InTheWay::Look).await {
                // The row that was read for an upsert or a removal has changed since.
                Err(error @ (Error::ConditionNotMet(_) | Error::AlreadyExists(_) | Error::NotFound(_)))
                    if is_of_read(&writes, &error) =>
                {
                    pacing::wait(tables.backend(), &mut delays, error).await?;
                }
                committed => break (committed?, read),
            }
        };
        for ((write, etag), read) in writes.iter_mut().zip(&etags).zip(read) {
            if let (Verb::Update(old, ..), Some(stored), Some(etag)) = (&mut write.verb, &mut write.stored, etag) {
                let unknown = old.take().or(read.map(|(old, _)| old)).and_then(|old| old.unknown);
                stored.written(etag.clone(), unknown);
            }
        }
        Ok(etags)
    }
}

/// Returns the update of a changed entity.
fn updated(entity: &dyn WriteEntity, state: &StoredState) -> Result<(RowKeys, Verb)> {
    write::unchanged_key(entity, state)?;
    let new = Encoded::of(entity)?;
    let keys = new.primary().keys.clone();
    Ok((keys, Verb::Update(state.loaded(entity)?, state.etag().clone(), new)))
}

/// Returns the deletion of an entity in the version that was read.
pub(crate) fn deleted(entity: &dyn WriteEntity, state: &StoredState) -> Result<(RowKeys, Verb)> {
    Ok((state.loaded_key(entity)?, Verb::Delete(state.loaded_for_deletion(entity)?, state.etag().clone())))
}

/// Returns the removal of an entity in any version.
pub(crate) fn removed(entity: &dyn WriteEntity, state: &StoredState) -> Result<(RowKeys, Verb)> {
    let keys = state.loaded_key(entity)?;
    // Only index rows depend on the stored entity.
    let loaded = if entity.info().layouts.len() > 1 { state.loaded(entity)? } else { None };
    Ok((keys, Verb::Remove(loaded.map(|loaded| (loaded, state.etag().clone())))))
}

/// Checks that all writes are to one partition of one table.
fn check_place(writes: &[EntityWrite<'_>]) -> Result<()> {
    let what = "the transaction has".to_owned();
    let Some(first) = writes.first() else {
        let (table, found) = (String::new(), "no writes".to_owned());
        return Err(Box::new(LimitError { table, row: None, what, found, limit: "1 to 100" }).into());
    };
    let first = first.row_id()?;
    for other in writes {
        let row = other.row_id()?;
        if (&row.table, &row.partition_key) != (&first.table, &first.partition_key) {
            let (table, found, limit) = (row.table.clone(), format!("{first} as well"), "one partition of one table");
            return Err(Box::new(LimitError { table, row: Some(row), what, found, limit }).into());
        }
    }
    Ok(())
}

/// Checks whether the error concerns a row that the commit itself read, and can read again.
fn is_of_read(writes: &[EntityWrite<'_>], error: &Error) -> bool {
    let (Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row)) = error else { return false };
    let missing = |write: &EntityWrite<'_>| matches!((&write.verb, error), (Verb::Remove(_), Error::NotFound(_)));
    writes.iter().filter(|write| write.reads()).any(|write| write.keys.row_key == row.row_key && !missing(write))
}

/// Reads the stored entities that the transaction depends on.
pub(crate) async fn read(writes: &[EntityWrite<'_>]) -> Result<Vec<RowsBefore>> {
    let mut reads: Vec<BoxFuture<'_, Result<(usize, RowsBefore)>>> = Vec::new();
    for (at, write) in writes.iter().enumerate().filter(|(_, write)| write.depends_on_stored()) {
        reads.push(Box::pin(async move { Ok((at, write.read().await?)) }));
    }
    let mut before: Vec<_> = writes.iter().map(|_| None).collect();
    for (at, read) in pacing::concurrently(reads).await? {
        before[at] = read;
    }
    Ok(before)
}

/// Sends the transaction.
pub(crate) async fn send(
    writes: &[EntityWrite<'_>],
    read: &[RowsBefore],
    in_the_way: InTheWay,
) -> Result<Vec<Option<ETag>>> {
    commit(&plan(writes, read), in_the_way).await
}

fn plan<'p>(writes: &'p [EntityWrite<'_>], read: &'p [RowsBefore]) -> Vec<Planned<'p>> {
    let planned = writes.iter().zip(read).map(|(EntityWrite { write, keys, verb, .. }, read)| {
        let whole = |new: &Encoded| write.properties(new);
        let (change, action) = match (verb, read) {
            (Verb::Insert(new), _) | (Verb::Merge(new), None) => {
                (Change { old: None, new: Some(new) }, Action::Insert(whole(new)))
            }
            (Verb::Upsert(new), Some((old, version))) => {
                (Change { old: Some(&old.rows), new: Some(new) }, Action::Replace(whole(new), version.clone()))
            }
            (Verb::Merge(new), Some((old, version))) => {
                let properties = write.properties_over(&old.unknown, new);
                (Change { old: Some(&old.rows), new: Some(new) }, Action::Replace(properties, version.clone()))
            }
            (Verb::Upsert(new), None) => {
                let action = if write.schema.has_indexes() { Action::Insert } else { Action::Upsert };
                (Change { old: None, new: Some(new) }, action(whole(new)))
            }
            (Verb::Update(old, etag, new), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                let properties = match old {
                    Some(old) => write.properties_over(&old.unknown, new),
                    None => whole(new),
                };
                let change = Change { old: old.map(|old| &old.rows), new: Some(new) };
                (change, Action::Replace(properties, IfMatch::ETag(etag.clone())))
            }
            (Verb::Patch(properties, condition), _) => {
                (Change::NONE, Action::Merge(write.with_id(properties.clone()), condition.clone()))
            }
            (Verb::Delete(old, etag), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                (Change { old: old.map(|old| &old.rows), new: None }, Action::Delete(IfMatch::ETag(etag.clone())))
            }
            (Verb::Remove(Some((old, etag))), _) => {
                (Change { old: Some(&old.rows), new: None }, Action::Delete(IfMatch::ETag(etag.clone())))
            }
            (Verb::Remove(None), Some((old, version))) => {
                (Change { old: Some(&old.rows), new: None }, Action::Delete(version.clone()))
            }
            (Verb::Remove(None), None) => (Change::NONE, Action::Delete(IfMatch::Any)),
        };
        Planned { write, change, keys, action }
    });
    planned.collect()
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}
