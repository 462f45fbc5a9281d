//! Entity group transactions: writes of entities of one partition, all or nothing.

use std::fmt;

use crate::{
    ETag, Error, LimitError, OnePartition, Properties, Result, RowId, Stored, TableEntity, Tables,
    backend::{Action, BoxFuture, IfMatch},
    column::Set,
    entity::LoadedRows,
    index::{Change, Encoded, Planned, Schema, Upkeep, check, commit},
    pacing,
    query::{OfEntity, OwnKey},
    row::RowKeys,
    write,
};

/// Writes of entities of one partition and table, all or nothing: see [`Tables::transaction`].
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction<'a> {
    tables: Tables,
    writes: Vec<Write<'a>>,
    /// The first mistake; it is told when the transaction is committed.
    problem: Option<Error>,
}

/// What is done to one entity.
pub(crate) struct Write<'a> {
    pub(crate) upkeep: Upkeep,
    pub(crate) keys: RowKeys,
    pub(crate) what: What,
    /// Whether other rows depend on what stands there.
    pub(crate) indexed: bool,
    pub(crate) stored: Option<&'a mut (dyn Written + Send + Sync)>,
}

pub(crate) enum What {
    Insert(Encoded),
    Upsert(Encoded),
    /// Over the rows that it had; `None` if they have to be read.
    Update(Option<LoadedRows>, ETag, Encoded),
    Patch(Properties),
    /// Likewise.
    Delete(Option<LoadedRows>, ETag),
    Remove,
}

impl Write<'_> {
    pub(crate) fn row_id(&self) -> Result<RowId> {
        let (table, (partition_key, row_key)) = (self.upkeep.table_of(&self.keys)?, self.keys.clone());
        Ok(RowId { table: table.into_owned(), partition_key, row_key })
    }

    /// Whether it has to be known what stands there, whatever that is, since index rows depend on it.
    fn reads(&self) -> bool {
        self.indexed && matches!(self.what, What::Upsert(_) | What::Remove)
    }

    /// What stands there, where that has to be known.
    ///
    /// # Errors
    /// An entity of another kind stands there, or none that could be removed; or not the one of that version.
    async fn read(&self) -> Result<Read> {
        if let What::Update(None, etag, _) | What::Delete(None, etag) = &self.what {
            let old = self.upkeep.loaded_rows(&self.keys, etag).await?;
            return Ok(Some((old, IfMatch::ETag(etag.clone()))));
        }
        if !self.reads() {
            return Ok(None);
        }
        match (self.upkeep.stands(&self.keys).await?, &self.what) {
            (Some(Some(found)), _) => Ok(Some((found.encoded.into_loaded(), IfMatch::ETag(found.row.etag)))),
            (_, What::Remove) => Err(Error::NotFound(Box::new(self.row_id()?))),
            (Some(None), _) => Err(Error::AlreadyExists(Box::new(self.row_id()?))),
            (None, _) => Ok(None),
        }
    }

    /// What would be read if the very same entity stood there.
    fn unchanged(&self) -> Read {
        match &self.what {
            What::Upsert(new) if self.reads() => Some((new.clone().into_loaded(), IfMatch::Any)),
            What::Update(None, etag, new) => Some((new.clone().into_loaded(), IfMatch::ETag(etag.clone()))),
            _ => None,
        }
    }
}

/// What stands at the keys of a write, where that has to be known: its rows, and the condition that it is still there.
pub(crate) type Read = Option<(LoadedRows, IfMatch)>;

/// What takes note that it was written.
pub(crate) trait Written {
    fn written(&mut self, etag: ETag);
}

impl<E> Written for Stored<E> {
    fn written(&mut self, etag: ETag) {
        Self::written(self, etag);
    }
}

impl Tables {
    /// Begins a transaction: writes of any entities of one partition of one table, their index rows included, all of
    /// which are applied or none. At most 100 rows, 4 MiB as they are sent.
    ///
    /// What is deleted can be inserted again in the same transaction, and entities can swap the values of a unique
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
        write: impl FnOnce() -> Result<(RowKeys, What)>,
        stored: Option<&'a mut (dyn Written + Send + Sync)>,
    ) -> Self {
        let added = write().and_then(|(keys, what)| {
            let upkeep = Upkeep::new(self.tables.clone(), Schema::of::<E>())?;
            Ok(Write { upkeep, keys, what, indexed: E::LAYOUTS.len() > 1, stored })
        });
        match added {
            Ok(write) => self.writes.push(write),
            Err(error) => self.problem = self.problem.or(Some(error)),
        }
        self
    }

    /// Writes a new row.
    pub fn insert<E: OnePartition>(self, entity: &E) -> Self {
        self.add::<E>(|| encoded(entity).map(|(keys, new)| (keys, What::Insert(new))), None)
    }

    /// Writes the row, new or in place of the one with this key. An entity with indexes is read first, when the
    /// transaction is committed.
    pub fn upsert<E: OnePartition>(self, entity: &E) -> Self {
        self.add::<E>(|| encoded(entity).map(|(keys, new)| (keys, What::Upsert(new))), None)
    }

    /// Writes the changed entity back, if its row has not changed since it was read. `stored` has the new ETag once
    /// the transaction is committed.
    pub fn update<E: OnePartition>(self, stored: &'a mut Stored<E>) -> Self {
        let update = || {
            write::changed(stored)?;
            let (keys, new) = encoded(&**stored)?;
            Ok((keys, What::Update(stored.loaded_rows()?, Stored::etag(stored).clone(), new)))
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
            Ok((write::point(key.plan())?, What::Patch(properties)))
        };
        self.add::<K::Entity>(patch, None)
    }

    /// Deletes the row of the entity, if it has not changed since it was read.
    pub fn delete<E: OnePartition>(self, stored: &Stored<E>) -> Self {
        let delete = || Ok((stored.loaded_key()?, What::Delete(stored.loaded_rows()?, Stored::etag(stored).clone())));
        self.add::<E>(delete, None)
    }

    /// Deletes the row with this key, whatever its version; that there is none is an error here. An entity with indexes
    /// is read first, when the transaction is committed.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(self, key: K) -> Self
    where
        K: OfEntity<Entity: OnePartition> + OwnKey,
    {
        self.add::<K::Entity>(|| Ok((write::point(key.plan())?, What::Remove)), None)
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
            .any(|write| write.reads() || matches!(write.what, What::Update(None, ..) | What::Delete(None, _)))
        {
            // At the least, an upsert or an update changes nothing.
            let unchanged: Vec<_> = writes.iter().map(Write::unchanged).collect();
            check(&plan(&writes, &unchanged))?;
        }
        let mut delays = pacing::delays();
        let etags = loop {
            let read = read(&writes).await?;
            match send(&writes, &read).await {
                // What was read for an upsert or a removal has changed since.
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
fn check_place(writes: &[Write<'_>]) -> Result<()> {
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
fn is_of_read(writes: &[Write<'_>], error: &Error) -> bool {
    let (Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row)) = error else { return false };
    let missing = |write: &Write<'_>| matches!((&write.what, error), (What::Remove, Error::NotFound(_)));
    writes.iter().filter(|write| write.reads()).any(|write| write.keys.1 == row.row_key && !missing(write))
}

/// Reads what has to be known before a transaction is sent.
pub(crate) async fn read(writes: &[Write<'_>]) -> Result<Vec<Read>> {
    let mut reads: Vec<BoxFuture<'_, Result<Read>>> = Vec::with_capacity(writes.len());
    for write in writes {
        reads.push(Box::pin(write.read()));
    }
    pacing::concurrently(reads).await
}

/// Sends the transaction.
pub(crate) async fn send(writes: &[Write<'_>], read: &[Read]) -> Result<Vec<Option<ETag>>> {
    commit(&plan(writes, read)).await
}

fn plan<'p>(writes: &'p [Write<'_>], read: &'p [Read]) -> Vec<Planned<'p>> {
    let planned = writes.iter().zip(read).map(|(write, read)| {
        let (upkeep, keys) = (&write.upkeep, &write.keys);
        let whole = |new: &Encoded| upkeep.properties(new);
        let (change, action) = match (&write.what, read) {
            (What::Insert(new), _) => (Change { old: None, new: Some(new) }, Action::Insert(whole(new))),
            (What::Upsert(new), Some((old, version))) => {
                (Change { old: Some(old), new: Some(new) }, Action::Replace(whole(new), version.clone()))
            }
            (What::Upsert(new), None) => {
                let write = if write.indexed { Action::Insert } else { Action::Upsert };
                (Change { old: None, new: Some(new) }, write(whole(new)))
            }
            (What::Update(old, etag, new), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                (Change { old, new: Some(new) }, Action::Replace(whole(new), IfMatch::ETag(etag.clone())))
            }
            (What::Patch(properties), _) => {
                (Change { old: None, new: None }, Action::Merge(upkeep.with_id(properties.clone()), IfMatch::Any))
            }
            (What::Delete(old, etag), read) => {
                let old = old.as_ref().or(read.as_ref().map(|(old, _)| old));
                (Change { old, new: None }, Action::Delete(IfMatch::ETag(etag.clone())))
            }
            (What::Remove, Some((old, version))) => {
                (Change { old: Some(old), new: None }, Action::Delete(version.clone()))
            }
            (What::Remove, None) => (Change { old: None, new: None }, Action::Delete(IfMatch::Any)),
        };
        Planned { upkeep, change, keys, action }
    });
    planned.collect()
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}
