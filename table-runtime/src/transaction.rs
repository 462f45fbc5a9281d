//! Entity group transactions: writes of entities of one partition, all or nothing.

use std::fmt;

use crate::{
    ETag, Error, LimitError, OnePartition, Properties, Result, RowId, Stored, TableEntity, Tables,
    backend::{Action, BoxFuture, IfMatch},
    column::Set,
    entity::LoadedRows,
    index::{Change, Encoded, Occupant, Planned, Schema, Write, check, commit},
    pacing,
    query::{OfEntity, OwnKey},
    row::RowKeys,
    write,
};

/// Writes of entities of one partition and table, all or nothing: see [`Tables::transaction`].
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction<'a> {
    tables: Tables,
    writes: Vec<EntityWrite<'a>>,
    /// The first mistake; it is told when the transaction is committed.
    problem: Option<Error>,
}

/// Verb is done to one entity.
pub(crate) struct EntityWrite<'a> {
    pub(crate) write: Write,
    pub(crate) keys: RowKeys,
    pub(crate) verb: Verb,
    /// Whether other rows depend on what stands there.
    pub(crate) indexed: bool,
    pub(crate) stored: Option<&'a mut (dyn ReceiveETag + Send + Sync)>,
}

pub(crate) enum Verb {
    Insert(Encoded),
    Upsert(Encoded),
    /// Over the rows that it had; `None` if they have to be read.
    Update(Option<LoadedRows>, ETag, Encoded),
    Patch(Properties),
    /// Likewise.
    Delete(Option<LoadedRows>, ETag),
    Remove,
}

impl EntityWrite<'_> {
    pub(crate) fn row_id(&self) -> Result<RowId> {
        Ok(RowId::of(&self.write.table_of(&self.keys)?, &self.keys))
    }

    /// Whether it has to be known what stands there, whatever that is, since index rows depend on it.
    fn reads(&self) -> bool {
        self.indexed && matches!(self.verb, Verb::Upsert(_) | Verb::Remove)
    }

    /// Verb stands there, where that has to be known.
    ///
    /// # Errors
    /// An entity of another kind stands there, or none that could be removed; or not the one of that version.
    async fn read(&self) -> Result<Read> {
        if let Verb::Update(None, etag, _) | Verb::Delete(None, etag) = &self.verb {
            let old = self.write.loaded_rows(&self.keys, etag).await?;
            return Ok(Some((old, IfMatch::ETag(etag.clone()))));
        }
        if !self.reads() {
            return Ok(None);
        }
        match (self.write.occupant(&self.keys).await?, &self.verb) {
            (Occupant::Entity(found), _) => Ok(Some((found.encoded.into_loaded(), IfMatch::ETag(found.row.etag)))),
            (_, Verb::Remove) => Err(Error::NotFound(Box::new(self.row_id()?))),
            (Occupant::OtherKind, _) => Err(Error::AlreadyExists(Box::new(self.row_id()?))),
            (Occupant::None, _) => Ok(None),
        }
    }

    /// Verb would be read if the very same entity stood there.
    fn if_unchanged(&self) -> Read {
        match &self.verb {
            Verb::Upsert(new) if self.reads() => Some((new.clone().into_loaded(), IfMatch::Any)),
            Verb::Update(None, etag, new) => Some((new.clone().into_loaded(), IfMatch::ETag(etag.clone()))),
            _ => None,
        }
    }
}

/// Verb stands at the keys of a write, where that has to be known: its rows, and the condition that it is still there.
pub(crate) type Read = Option<(LoadedRows, IfMatch)>;

/// Verb takes note that it was written.
pub(crate) trait ReceiveETag {
    fn written(&mut self, etag: ETag);
}

impl<E> ReceiveETag for Stored<E> {
    fn written(&mut self, etag: ETag) {
        Self::written(self, etag);
    }
}

impl Tables {
    /// Begins a transaction: writes of any entities of one partition of one table, their index rows included, all of
    /// which are applied or none. At most 100 rows, 4 MiB as they are sent.
    ///
    /// Verb is deleted can be inserted again in the same transaction, and entities can swap the values of a unique
    /// index; otherwise each entity has one write. It is never split: what is too much is an error.
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
    /// # Ok(()) }
    /// ```
    pub fn transaction<'a>(&self) -> Transaction<'a> {
        Transaction { tables: self.clone(), writes: Vec::new(), problem: None }
    }
}

impl<'a> Transaction<'a> {
    fn add<E: TableEntity>(
        mut self,
        write: impl FnOnce() -> Result<(RowKeys, Verb)>,
        stored: Option<&'a mut (dyn ReceiveETag + Send + Sync)>,
    ) -> Self {
        let added = write().and_then(|(keys, verb)| {
            let write = Write::new(self.tables.clone(), Schema::of::<E>())?;
            Ok(EntityWrite { write, keys, verb, indexed: E::LAYOUTS.len() > 1, stored })
        });
        match added {
            Ok(write) => self.writes.push(write),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    /// Writes a new row.
    pub fn insert<E: OnePartition>(self, entity: &E) -> Self {
        self.add::<E>(|| encoded(entity).map(|(keys, new)| (keys, Verb::Insert(new))), None)
    }

    /// Writes the row, new or in place of the one with this key. An entity with indexes is read first, when the
    /// transaction is committed.
    pub fn upsert<E: OnePartition>(self, entity: &E) -> Self {
        self.add::<E>(|| encoded(entity).map(|(keys, new)| (keys, Verb::Upsert(new))), None)
    }

    /// Writes the changed entity back, if its row has not changed since it was read. `stored` has the new ETag once
    /// the transaction is committed.
    pub fn update<E: OnePartition>(self, stored: &'a mut Stored<E>) -> Self {
        let update = || {
            write::unchanged_key(stored)?;
            let (keys, new) = encoded(&**stored)?;
            Ok((keys, Verb::Update(stored.loaded_rows()?, Stored::etag(stored).clone(), new)))
        };
        let update = update();
        self.add::<E>(|| update, Some(stored))
    }

    /// Sets some properties of a row and keeps its others, whatever its version.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I>(self, key: K, sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I) -> Self
    where
        K: OfEntity<Entity: OnePartition> + OwnKey,
        I: IntoIterator<Item = Set<K::Entity>>,
    {
        let patch = || {
            let properties = write::patched(key.plan(), sets(<K::Entity as TableEntity>::COLUMNS))?;
            Ok((write::point(key.plan())?, Verb::Patch(properties)))
        };
        self.add::<K::Entity>(patch, None)
    }

    /// Deletes the row of the entity, if it has not changed since it was read.
    pub fn delete<E: OnePartition>(self, stored: &Stored<E>) -> Self {
        let delete = || Ok((stored.loaded_key()?, Verb::Delete(stored.loaded_rows()?, Stored::etag(stored).clone())));
        self.add::<E>(delete, None)
    }

    /// Deletes the row with this key, whatever its version; that there is none is an error here. An entity with indexes
    /// is read first, when the transaction is committed.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(self, key: K) -> Self
    where
        K: OfEntity<Entity: OnePartition> + OwnKey,
    {
        self.add::<K::Entity>(|| Ok((write::point(key.plan())?, Verb::Remove)), None)
    }

    /// Carries all of it out, with one request and one for each upsert and removal of an entity with indexes, and for
    /// each of its [`Stored::new`], and gives the new ETags in order, `None` for what was deleted.
    ///
    /// If the answer is lost, one row with a `write_id` proves that all of it was applied. The ETags of rows without one
    /// are not known then, `None`: read such a row again before it is updated.
    ///
    /// # Errors
    /// The first that concerns any of the writes: those of [`insert`](Tables::insert), [`update`](Tables::update) and
    /// the others, which name the row; [`Error::Limit`] for writes to several partitions or tables, for none at all,
    /// for more than 100 rows or 4 MiB, and for two writes to one row, before anything is sent as far as it is known
    /// by then. Nothing was written, unless it is [`Error::OutcomeUnknown`].
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        let Self { tables, mut writes, problem } = self;
        if let Some(problem) = problem {
            return Err(problem);
        }
        check_place(&writes)?;
        if writes
            .iter()
            .any(|write| write.reads() || matches!(write.verb, Verb::Update(None, ..) | Verb::Delete(None, _)))
        {
            // At the least, an upsert or an update changes nothing.
            let unchanged: Vec<_> = writes.iter().map(EntityWrite::if_unchanged).collect();
            check(&plan(&writes, &unchanged))?;
        }
        let mut delays = pacing::delays();
        let etags = loop {
            let read = read(&writes).await?;
            match send(&writes, &read).await {
                // Verb was read for an upsert or a removal has changed since.
                Err(error @ (Error::ConditionNotMet(_) | Error::AlreadyExists(_) | Error::NotFound(_)))
                    if is_of_read(&writes, &error) =>
                {
                    pacing::wait(&**tables.backend(), &mut delays, error).await?;
                }
                committed => break committed?,
            }
        };
        for (write, etag) in writes.iter_mut().zip(&etags) {
            if let (Some(stored), Some(etag)) = (&mut write.stored, etag) {
                stored.written(etag.clone());
            }
        }
        Ok(etags)
    }
}

fn encoded<E: TableEntity>(entity: &E) -> Result<(RowKeys, Encoded)> {
    let encoded = Encoded::of(entity)?;
    Ok((encoded.primary().keys.clone(), encoded))
}

/// One partition of one table.
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

/// Whether the error is about a row that was read for this transaction alone.
fn is_of_read(writes: &[EntityWrite<'_>], error: &Error) -> bool {
    let (Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row)) = error else { return false };
    let missing = |write: &EntityWrite<'_>| matches!((&write.verb, error), (Verb::Remove, Error::NotFound(_)));
    writes.iter().filter(|write| write.reads()).any(|write| write.keys.row_key == row.row_key && !missing(write))
}

/// Reads what has to be known before a transaction is sent.
pub(crate) async fn read(writes: &[EntityWrite<'_>]) -> Result<Vec<Read>> {
    let mut reads: Vec<BoxFuture<'_, Result<Read>>> = Vec::with_capacity(writes.len());
    for write in writes {
        reads.push(Box::pin(write.read()));
    }
    pacing::concurrently(reads).await
}

/// Sends the transaction.
pub(crate) async fn send(writes: &[EntityWrite<'_>], read: &[Read]) -> Result<Vec<Option<ETag>>> {
    commit(&plan(writes, read)).await
}

fn plan<'p>(writes: &'p [EntityWrite<'_>], read: &'p [Read]) -> Vec<Planned<'p>> {
    let planned = writes.iter().zip(read).map(|(EntityWrite { write, keys, verb, indexed, .. }, read)| {
        let whole = |new: &Encoded| write.properties(new);
        let (change, action) = match (verb, read) {
            (Verb::Insert(new), _) => (Change { old: None, new: Some(new) }, Action::Insert(whole(new))),
            (Verb::Upsert(new), Some((old, version))) => {
                (Change { old: Some(old), new: Some(new) }, Action::Replace(whole(new), version.clone()))
            }
            (Verb::Upsert(new), None) => {
                let action = if *indexed { Action::Insert } else { Action::Upsert };
                (Change { old: None, new: Some(new) }, action(whole(new)))
            }
            (Verb::Update(old, etag, new), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                (Change { old, new: Some(new) }, Action::Replace(whole(new), IfMatch::ETag(etag.clone())))
            }
            (Verb::Patch(properties), _) => {
                (Change::NONE, Action::Merge(write.with_id(properties.clone()), IfMatch::Any))
            }
            (Verb::Delete(old, etag), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                (Change { old, new: None }, Action::Delete(IfMatch::ETag(etag.clone())))
            }
            (Verb::Remove, Some((old, version))) => {
                (Change { old: Some(old), new: None }, Action::Delete(version.clone()))
            }
            (Verb::Remove, None) => (Change::NONE, Action::Delete(IfMatch::Any)),
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
