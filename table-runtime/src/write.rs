//! Writes of one entity.

use crate::{
    ETag, Error, Guid, KeyChangedError, LayoutInfo, OutcomeUnknownError, Properties, Result, RowId, RowNow, Stored,
    TableEntity, Tables, ValueRef,
    backend::{Action, Backend, BoxFuture, Group, IfMatch, Operation},
    column::Set,
    entity,
    index::{Encoded, Schema, Upkeep},
    query::{OfEntity, OwnKey},
    read::Plan,
    row::RowKeys,
    slice_tables,
};

/// A write that is ready to be sent.
struct Write {
    layout: &'static LayoutInfo,
    group: Group,
    /// The id that tells this write from another's.
    id: Option<Guid>,
}

impl Tables {
    /// Writes a new row and gives its ETag, with one request; with k index rows in other partitions 2 + k, and a copy
    /// there takes a write and a read more.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] if there is a row with this key, which takes a request more; [`Error::UniqueViolation`]
    /// if a unique index has another entity for the value; [`Error::Key`] and [`Error::Limit`] for values that no row holds;
    /// [`Error::OutcomeUnknown`] if the answer was lost, [`Error::Aborted`] if it took so long that another writer
    /// took it for dead.
    pub fn insert<E: TableEntity>(&self, entity: &E) -> BoxFuture<'static, Result<ETag>> {
        if has_indexes::<E>() {
            let begun = self.encoded(entity);
            return Box::pin(async move {
                let (upkeep, new) = begun?;
                upkeep.insert(&new).await
            });
        }
        let (tables, write) = (self.clone(), whole::<E>(entity, Action::Insert));
        Box::pin(async move {
            let write = write?;
            loop {
                match tables.send(&write).await {
                    // Another program may know an index that this one does not, and have left a pending insert here.
                    Err(Error::AlreadyExists(_)) if tables.clear_pending::<E>(&write.group).await? => {}
                    sent => return sent,
                }
            }
        })
    }

    /// Writes the row, new or in place of the one with this key, and gives its ETag, with one request. An entity with
    /// indexes is read first, and then inserted or updated.
    ///
    /// # Errors
    /// Those of [`insert`](Self::insert), but for [`Error::AlreadyExists`].
    pub fn upsert<E: TableEntity>(&self, entity: &E) -> BoxFuture<'static, Result<ETag>> {
        if has_indexes::<E>() {
            let begun = self.encoded(entity);
            return Box::pin(async move {
                let (upkeep, new) = begun?;
                upkeep.upsert(&new).await
            });
        }
        self.write(whole::<E>(entity, Action::Upsert))
    }

    /// Writes the changed entity back, if its row has not changed since it was read, and gives the new ETag, which
    /// `stored` then has too. Properties that the struct does not know are removed.
    ///
    /// It takes one request; with k index rows in other partitions that move 1 + 3k, and a copy there takes a write, two
    /// if it moves, and a read more, as does a row whose included properties change. A [`Stored::new`] of an entity with
    /// indexes takes a read more.
    ///
    /// # Errors
    /// [`Error::ConditionNotMet`] if the row has changed, [`Error::NotFound`] if it is gone, [`Error::KeyChanged`] if
    /// the entity's key is not the one that it was read with; [`Error::UniqueViolation`]; [`Error::Limit`];
    /// [`Error::OutcomeUnknown`] if the answer was lost. After any of them `stored` has the entity as it was given; its
    /// ETag is another one where the update had to touch the row to take index rows back.
    pub fn update<'a, E: TableEntity>(&'a self, stored: &'a mut Stored<E>) -> BoxFuture<'a, Result<ETag>> {
        if has_indexes::<E>() {
            let begun = changed(stored).and_then(|keys| Ok((keys, stored.loaded_rows()?, self.encoded(&**stored)?)));
            return Box::pin(async move {
                let (keys, old, (upkeep, new)) = begun?;
                let mut etag = Stored::etag(stored).clone();
                let old = match old {
                    Some(old) => old,
                    None => upkeep.loaded_rows(&keys, &etag).await?,
                };
                let updated = upkeep.update(&old, &mut etag, &new).await;
                match updated {
                    Ok(()) => stored.written(etag.clone()),
                    Err(_) => stored.touched(&etag),
                }
                updated.map(|()| etag)
            });
        }
        let write = update(stored);
        let written = self.write(write);
        Box::pin(async move {
            let etag = written.await?;
            stored.written(etag.clone());
            Ok(etag)
        })
    }

    /// Sets some properties of the row and keeps its others, without reading it, whatever its version; gives the new
    /// ETag, with one request. What it sets in an insert that is not committed yet is gone with it if that is aborted.
    ///
    /// Only what no key depends on can be set:
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// tables.patch(Post::key("Marcus", 1), |post| [post.title.set("Sums"), post.likes.set(2)]).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such row: a patch never makes one. Else those of [`insert`](Self::insert).
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I>(
        &self,
        key: K,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> BoxFuture<'static, Result<ETag>>
    where
        K: OfEntity<Entity: TableEntity> + OwnKey,
        I: IntoIterator<Item = Set<K::Entity>>,
    {
        self.write(patch::<K::Entity>(key.plan(), sets(<K::Entity as TableEntity>::COLUMNS)))
    }

    /// Deletes the row of the entity, if it has not changed since it was read, with one request; with k index rows in
    /// other partitions 1 + 2k. A [`Stored::new`] of an entity with indexes takes a read more.
    ///
    /// # Errors
    /// [`Error::ConditionNotMet`] if the row has changed, [`Error::NotFound`] if it is gone;
    /// [`Error::OutcomeUnknown`] if the answer was lost.
    pub fn delete<E: TableEntity>(&self, stored: &Stored<E>) -> BoxFuture<'static, Result<()>> {
        if has_indexes::<E>() {
            let tables = self.clone();
            let (keys, old, etag) = (stored.loaded_key(), stored.loaded_rows(), Stored::etag(stored).clone());
            return Box::pin(async move {
                let (keys, upkeep) = (keys?, Upkeep::new(tables, Schema::of::<E>())?);
                let old = match old? {
                    Some(old) => old,
                    None => upkeep.loaded_rows(&keys, &etag).await?,
                };
                upkeep.delete(&keys, &old, &etag).await
            });
        }
        let (backend, group) = (self.backend().clone(), delete(stored));
        Box::pin(async move { send(&*backend, &E::LAYOUTS[0], &group?, None).await.map(drop) })
    }

    /// Deletes the row with this key, whatever its version, and says whether there was one. An entity with indexes is
    /// read first.
    ///
    /// It asks for no kind: where entities of several kinds share a table, their keys must differ.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] if the answer was lost; [`Error::Key`] for a value that no key holds.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(&self, key: K) -> BoxFuture<'static, Result<bool>>
    where
        K: OfEntity<Entity: TableEntity> + OwnKey,
    {
        if has_indexes::<K::Entity>() {
            let (tables, keys) = (self.clone(), point(key.plan()));
            return Box::pin(async move { Upkeep::new(tables, Schema::of::<K::Entity>())?.remove(&keys?).await });
        }
        let (backend, layout) = (self.backend().clone(), key.plan().layout());
        let group = point(key.plan()).and_then(|keys| single(layout, keys, Action::Delete(IfMatch::Any)));
        Box::pin(async move {
            match send(&*backend, layout, &group?, None).await {
                Ok(_) => Ok(true),
                Err(Error::NotFound(_)) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// An entity's rows, ready to be written.
    fn encoded<E: TableEntity>(&self, entity: &E) -> Result<(Upkeep, Encoded)> {
        let encoded = Encoded::of(entity)?;
        Ok((Upkeep::new(self.clone(), Schema::of::<E>())?, encoded))
    }

    fn write(&self, write: Result<Write>) -> BoxFuture<'static, Result<ETag>> {
        let tables = self.clone();
        Box::pin(async move { tables.send(&write?).await })
    }

    async fn send(&self, Write { layout, group, id }: &Write) -> Result<ETag> {
        let backend = &**self.backend();
        match send(backend, layout, group, *id).await? {
            Some(etag) => Ok(etag),
            None => Err(lost(backend, group, "the answer has no ETag".to_owned()).await.into()),
        }
    }

    /// Deletes a pending insert that is in the way of this insert. Returns whether the row is free now.
    async fn clear_pending<E: TableEntity>(&self, group: &Group) -> Result<bool> {
        let row_key = group.operations.first().map_or("", |operation| &operation.row_key);
        let select = Some(&[entity::PENDING][..]);
        let row = match self.backend().get(&group.table, &group.partition_key, row_key, select).await? {
            Some(row) if entity::is_pending(&group.table, row.as_ref())? => row,
            _ => return Ok(false),
        };
        let delete = single(&E::LAYOUTS[0], (row.partition_key, row.row_key), Action::Delete(IfMatch::ETag(row.etag)))?;
        match self.backend().execute(&delete).await {
            Ok(_) | Err(Error::NotFound(_) | Error::ConditionNotMet(_)) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Whether there are rows beside the entity's own.
const fn has_indexes<E: TableEntity>() -> bool {
    E::LAYOUTS.len() > 1
}

/// The group of one operation.
fn single(layout: &'static LayoutInfo, (partition_key, row_key): (String, String), action: Action) -> Result<Group> {
    let table = layout.table_of(&partition_key, &row_key)?;
    let group = Group { table, partition_key, operations: vec![Operation { row_key, action }] };
    group.check()?;
    Ok(group)
}

/// A write of all properties.
fn whole<E: TableEntity>(entity: &E, action: fn(Properties) -> Action) -> Result<Write> {
    let keys = entity::keys(entity)?;
    let (properties, id) = all_properties(entity, &keys)?;
    let layout = &E::LAYOUTS[0];
    Ok(Write { layout, group: single(layout, keys, action(properties))?, id })
}

/// The entity's properties and the crate's own: the kind, and the write's id.
fn all_properties<E: TableEntity>(entity: &E, keys: &(String, String)) -> Result<(Properties, Option<Guid>)> {
    let mut properties = entity::properties(entity, keys)?;
    if let Some(kind) = E::KIND {
        properties.push(entity::KIND, ValueRef::String(kind));
    }
    let id = write_id::<E>(&mut properties)?;
    Ok((properties, id))
}

fn write_id<E: TableEntity>(properties: &mut Properties) -> Result<Option<Guid>> {
    if !E::WRITE_ID {
        return Ok(None);
    }
    let id = Guid::random()?;
    properties.push(entity::WRITE_ID, ValueRef::Guid(id));
    Ok(Some(id))
}

fn update<E: TableEntity>(stored: &Stored<E>) -> Result<Write> {
    let keys = changed(stored)?;
    let (properties, id) = all_properties(&**stored, &keys)?;
    let action = Action::Replace(properties, IfMatch::ETag(Stored::etag(stored).clone()));
    let layout = &E::LAYOUTS[0];
    Ok(Write { layout, group: single(layout, keys, action)?, id })
}

/// The primary key of a changed entity, which is the one that it was loaded with.
pub(crate) fn changed<E: TableEntity>(stored: &Stored<E>) -> Result<RowKeys> {
    let (was, keys) = (stored.loaded_key()?, entity::keys(&**stored)?);
    if was == keys {
        return Ok(keys);
    }
    let table = E::LAYOUTS[0].table_of(&was.0, &was.1)?.into_owned();
    let was = RowId { table, partition_key: was.0, row_key: was.1 };
    let (partition_key, row_key) = keys;
    Err(Box::new(KeyChangedError { was, partition_key, row_key }).into())
}

fn delete<E: TableEntity>(stored: &Stored<E>) -> Result<Group> {
    let keys = stored.loaded_key()?;
    single(&E::LAYOUTS[0], keys, Action::Delete(IfMatch::ETag(Stored::etag(stored).clone())))
}

/// The two keys of a point that is written.
pub(crate) fn point(key: &Plan) -> Result<(String, String)> {
    let (partition_key, row_key) = key.checked_keys()?;
    Ok((partition_key.to_owned(), row_key.to_owned()))
}

/// The properties that a patch sets.
pub(crate) fn patched<E: TableEntity>(key: &Plan, sets: impl IntoIterator<Item = Set<E>>) -> Result<Properties> {
    let (table, keys) = (key.table(), point(key)?);
    let mut properties = Properties::default();
    for set in sets {
        let value = set.value.map_err(|problem| crate::codec::unwritable(table, &keys, set.name, problem))?;
        properties.set(set.name, value.as_ref());
    }
    Ok(properties)
}

fn patch<E: TableEntity>(key: &Plan, sets: impl IntoIterator<Item = Set<E>>) -> Result<Write> {
    let (layout, keys) = (key.layout(), point(key)?);
    let mut properties = patched(key, sets)?;
    let id = write_id::<E>(&mut properties)?;
    Ok(Write { layout, group: single(layout, keys, Action::Merge(properties, IfMatch::Any))?, id })
}

/// Sends a write of one operation and gives the row's new ETag.
///
/// After a lost answer the row is read: if it has this write's id, the write was applied, and nothing else proves
/// that. A row without it proves nothing, for the write may yet arrive, or another writer have come after it.
async fn send(backend: &dyn Backend, layout: &LayoutInfo, group: &Group, id: Option<Guid>) -> Result<Option<ETag>> {
    let reason = match slice_tables::execute(backend, layout, group).await {
        Ok(mut etags) => return Ok(etags.pop().flatten()),
        Err(Error::OutcomeUnknown(error)) => error.reason,
        Err(error) => return Err(error),
    };
    let error = lost(backend, group, reason).await;
    match (&error.now, id) {
        (RowNow::Present(row), Some(id)) if row.properties.get(entity::WRITE_ID) == Some(ValueRef::Guid(id)) => {
            Ok(Some(row.etag.clone()))
        }
        _ => Err(error.into()),
    }
}

/// What is known of a row after the answer of a write was lost.
async fn lost(backend: &dyn Backend, group: &Group, reason: String) -> Box<OutcomeUnknownError> {
    let row_key = group.operations.first().map_or("", |operation| &operation.row_key);
    let now = match backend.get(&group.table, &group.partition_key, row_key, None).await {
        Ok(Some(row)) => RowNow::Present(Box::new(row)),
        Ok(None) => RowNow::Absent,
        Err(error) => RowNow::Unread(error.to_string()),
    };
    let row = RowId {
        table: group.table.to_string(),
        partition_key: group.partition_key.clone(),
        row_key: row_key.to_owned(),
    };
    Box::new(OutcomeUnknownError { operation: group.name(), row, reason, now })
}
