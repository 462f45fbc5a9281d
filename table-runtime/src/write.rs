//! Writes of one entity.

use crate::{
    ETag, KeyChangedError, OneVersion, Properties, PropertyProblem, Result, RowId, TableEntity, Tables, Value,
    backend::{BoxFuture, IfMatch},
    codec,
    column::{Set, Sets},
    entity::{self, StoredState, WriteEntity},
    index::{Encoded, EntityWriter, Schema, Write},
    observe::{Observed, observed},
    query::OwnKey,
    read::Plan,
    row::RowKeys,
    writable::{Deletable, Updatable, Writable},
};

impl Tables {
    /// Writes a new row and returns its ETag, with one request. With k index rows in other partitions, it takes 2 + k
    /// requests. A copy in another partition takes one more write and one more read.
    ///
    /// # Errors
    /// Returns [`Error::AlreadyExists`](crate::Error::AlreadyExists) if there is a row with this key, which takes one
    /// more request; [`Error::UniqueViolation`](crate::Error::UniqueViolation) if the value of a unique index belongs
    /// to another entity; [`Error::Key`](crate::Error::Key) and [`Error::Limit`](crate::Error::Limit) for values that
    /// no row can hold; [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost;
    /// [`Error::Aborted`](crate::Error::Aborted) if the insert took so long that another writer treated it as
    /// abandoned. If the key and a unique value are both taken, it is one of the two errors: expect both.
    pub fn insert<E: Writable + ?Sized>(&self, entity: &E) -> BoxFuture<'static, Result<ETag>> {
        self.insert_erased(Schema::of::<E::Entity>(), entity.as_entity())
    }

    /// Writes the row, new or in place of the one with this key, and returns its ETag, with one request. An entity with
    /// indexes is read first, and then inserted or updated.
    ///
    /// Properties of the present row that the struct does not know are removed: [`merge`](Self::merge) keeps them. A row
    /// of a newer version than that of the struct is replaced unnoticed if the entity has no indexes, and
    /// [`Error::Version`](crate::Error::Version) otherwise; for `merge` it is always that error.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert), except [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    pub fn upsert<E: Writable + ?Sized>(&self, entity: &E) -> BoxFuture<'static, Result<ETag>> {
        self.upsert_erased(Schema::of::<E::Entity>(), entity.as_entity())
    }

    /// Inserts the entity, or writes it over the present one and keeps the properties of the row that the struct does
    /// not know. Returns the new ETag. The row is read before the write, so a merge takes at least two requests.
    ///
    /// The entity that is read afterwards equals `entity`: a property of the struct that `entity` does not have, because
    /// the field is `None`, is removed. To set some properties alone, use [`patch`](Self::patch).
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// // A newer version of this program may have stored more properties of the post.
    /// let post = Post { author: "Marcus".into(), number: 1, title: "Sums".into(), likes: 0 };
    /// tables.merge(&post).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::AlreadyExists`](crate::Error::AlreadyExists) if the row is an entity of another kind, the errors
    /// of [`insert`](Self::insert) otherwise, and those of a read if the present row does not fit the struct.
    pub fn merge<E: Writable + ?Sized>(&self, entity: &E) -> BoxFuture<'static, Result<ETag>> {
        self.merge_erased(Schema::of::<E::Entity>(), entity.as_entity())
    }

    /// Writes the changed entity back, if its row has not changed since it was read. Returns the new ETag and sets it
    /// in `stored`. Properties of the row that the struct does not know are kept.
    ///
    /// An update takes one request. With k index rows in other partitions that move, it takes 1 + 3k requests. A copy
    /// in another partition takes one more write, or two if it moves, and one more read; so does a row whose included
    /// properties change. The first update of a [`Stored::new`](crate::Stored::new) takes one more read.
    ///
    /// # Errors
    /// Returns [`Error::ConditionNotMet`](crate::Error::ConditionNotMet) if the row has changed;
    /// [`Error::NotFound`](crate::Error::NotFound) if the row is gone; [`Error::KeyChanged`](crate::Error::KeyChanged)
    /// if the entity's key is not the one that it was read with;
    /// [`Error::UniqueViolation`](crate::Error::UniqueViolation) and [`Error::Limit`](crate::Error::Limit) as
    /// [`insert`](Self::insert) does; [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost.
    /// After any of these errors, `stored` keeps the entity as it was given. Its ETag is a new one if the update had to
    /// write to the row to roll back index rows.
    pub fn update<'a, S: Updatable>(&'a self, stored: &'a mut S) -> BoxFuture<'a, Result<ETag>> {
        let (entity, state) = stored.to_update().parts_mut();
        self.update_erased(Schema::of::<S::Entity>(), entity, state)
    }

    /// Sets some properties of the row, whatever its version, and keeps its other properties. Returns the new ETag,
    /// with one request: the row is not read. If the row is an insert that is not committed yet, and that insert is
    /// aborted, the changes are lost with it.
    ///
    /// An entity that reads rows of older versions, with `#[table(from = …)]`, cannot be patched. A row of a newer version
    /// than that of the struct is patched unnoticed.
    ///
    /// Only properties that no key depends on can be set:
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
    /// Returns [`Error::NotFound`](crate::Error::NotFound) if there is no such row: a patch never creates one. The
    /// other errors are those of [`insert`](Self::insert).
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I>(
        &self,
        key: K,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> BoxFuture<'static, Result<ETag>>
    where
        K: OwnKey<Entity: TableEntity + OneVersion>,
        I: Sets<K::Entity>,
    {
        self.patched(key.plan(), IfMatch::Any, sets(<K::Entity as TableEntity>::COLUMNS))
    }

    /// Sets some properties of the row, if it still has this version, and keeps its other properties. Returns the new
    /// ETag, with one request: the row is not read. If the answer is lost and a `write_id` proves the patch, the ETag is that
    /// of the row as it is then, in which a program without the write id may have set other properties.
    ///
    /// The ETag is one that an earlier read or write returned, or that a client sent in `If-Match`:
    ///
    /// ```
    /// # use table_runtime::{ETag, Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
    /// async fn rename(tables: &Tables, if_match: &str, title: &str) -> Result<ETag> {
    ///     let etag: ETag = if_match.parse().expect("the web service answers 400");
    ///     tables.patch_if(Post::key("Marcus", 1), &etag, |post| [post.title.set(title)]).await
    /// }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # let post = Post { author: "Marcus".into(), number: 1, title: "Keys".into() };
    /// # let etag = tables.insert(&post).await?.to_string();
    /// # rename(&tables, &etag, "Sums").await?;
    /// # assert!(matches!(rename(&tables, &etag, "Products").await, Err(table_runtime::Error::ConditionNotMet(_))));
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::ConditionNotMet`](crate::Error::ConditionNotMet) if the row has another version, and the errors
    /// of [`patch`](Self::patch).
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch_if<K, I>(
        &self,
        key: K,
        etag: &ETag,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> BoxFuture<'static, Result<ETag>>
    where
        K: OwnKey<Entity: TableEntity + OneVersion>,
        I: Sets<K::Entity>,
    {
        self.patched(key.plan(), IfMatch::ETag(etag.clone()), sets(<K::Entity as TableEntity>::COLUMNS))
    }

    fn patched<E: TableEntity>(
        &self,
        key: &Plan,
        condition: IfMatch,
        sets: impl Sets<E>,
    ) -> BoxFuture<'static, Result<ETag>> {
        self.patch_row(Schema::of::<E>(), patched(key, sets), condition)
    }

    /// Deletes the row of the entity, if it has not changed since it was read, with one request. With k index rows in
    /// other partitions, it takes 1 + 2k requests. A [`Stored::new`](crate::Stored::new) of an entity with indexes takes one more read.
    ///
    /// # Errors
    /// Returns [`Error::ConditionNotMet`](crate::Error::ConditionNotMet) if the row has changed;
    /// [`Error::NotFound`](crate::Error::NotFound) if the row is gone;
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost.
    #[allow(clippy::needless_pass_by_value, reason = "a reference")]
    pub fn delete<S: Deletable>(&self, stored: S) -> BoxFuture<'static, Result<()>> {
        let (entity, state) = stored.to_delete().parts();
        self.delete_erased(Schema::of::<S::Entity>(), entity, state)
    }

    /// Deletes the row with this key, whatever its version. Returns true if there was one. An entity with indexes is
    /// read first, also if only other programs have the indexes and the handle has called
    /// [`create`](Self::create): a row whose insert a crash has cut off is no entity, and the answer is false.
    ///
    /// If the entity is not read, the kind of the row is not checked, and a row of a newer version is deleted. If entities
    /// of several kinds share a table, their keys must differ. If it is read, a row of a newer version is
    /// [`Error::Version`](crate::Error::Version).
    ///
    /// # Errors
    /// Returns [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost;
    /// [`Error::Key`](crate::Error::Key) for a value that no key can hold.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn remove<K>(&self, key: K) -> BoxFuture<'static, Result<bool>>
    where
        K: OwnKey<Entity: TableEntity>,
    {
        self.remove_row(Schema::of::<K::Entity>(), key.plan())
    }
}

/// The verbs without the entity's type.
impl Tables {
    fn insert_erased(&self, schema: Schema, entity: &dyn WriteEntity) -> BoxFuture<'static, Result<ETag>> {
        let begun = self.encoded(schema, entity);
        Box::pin(self.observed(schema, "insert", async move {
            let (write, new) = begun?;
            EntityWriter(&write).insert(&new).await
        }))
    }

    fn upsert_erased(&self, schema: Schema, entity: &dyn WriteEntity) -> BoxFuture<'static, Result<ETag>> {
        let begun = self.encoded(schema, entity);
        Box::pin(self.observed(schema, "upsert", async move {
            let (write, new) = begun?;
            EntityWriter(&write).upsert(&new).await
        }))
    }

    fn merge_erased(&self, schema: Schema, entity: &dyn WriteEntity) -> BoxFuture<'static, Result<ETag>> {
        let begun = self.encoded(schema, entity);
        Box::pin(self.observed(schema, "merge", async move {
            let (write, new) = begun?;
            EntityWriter(&write).merge(&new).await
        }))
    }

    fn update_erased<'a>(
        &self,
        schema: Schema,
        entity: &dyn WriteEntity,
        state: &'a mut StoredState,
    ) -> BoxFuture<'a, Result<ETag>> {
        let begun = unchanged_key(entity, state)
            .and_then(|keys| Ok((keys, state.loaded(entity)?, self.encoded(schema, entity)?)));
        Box::pin(self.observed(schema, "update", async move {
            let (keys, old, (write, new)) = begun?;
            let mut etag = state.etag().clone();
            let old = match old {
                Some(old) => old,
                None => write.load(&keys, &etag).await?,
            };
            let updated = EntityWriter(&write).update(&old, &mut etag, &new).await;
            match updated {
                Ok(()) => state.written(etag.clone(), old.unknown),
                Err(_) => state.set_etag(&etag),
            }
            updated.map(|()| etag)
        }))
    }

    fn patch_row(
        &self,
        schema: Schema,
        patch: Result<(RowKeys, Properties)>,
        condition: IfMatch,
    ) -> BoxFuture<'static, Result<ETag>> {
        let tables = self.clone();
        Box::pin(self.observed(schema, "patch", async move {
            let (keys, properties) = patch?;
            EntityWriter(&Write::new(tables, schema)?).patch(&keys, properties, condition).await
        }))
    }

    fn delete_erased(
        &self,
        schema: Schema,
        entity: &dyn WriteEntity,
        state: &StoredState,
    ) -> BoxFuture<'static, Result<()>> {
        let tables = self.clone();
        let (keys, old, etag) = (state.loaded_key(entity), state.loaded_for_deletion(entity), state.etag().clone());
        Box::pin(self.observed(schema, "delete", async move {
            let (keys, write) = (keys?, Write::new(tables, schema)?);
            let old = match old? {
                Some(old) => old,
                None => write.load(&keys, &etag).await?,
            };
            EntityWriter(&write).delete(&keys, &old.rows, &etag).await
        }))
    }

    fn remove_row(&self, schema: Schema, key: &Plan) -> BoxFuture<'static, Result<bool>> {
        let (tables, keys) = (self.clone(), point(key));
        Box::pin(
            self.observed(
                schema,
                "remove",
                async move { EntityWriter(&Write::new(tables, schema)?).remove(&keys?).await },
            ),
        )
    }

    /// Returns the future of a user's operation on an entity.
    pub(crate) fn observed<F>(&self, schema: Schema, verb: &'static str, future: F) -> Observed<F> {
        observed(self.begin_operation(|| schema.operation(verb)), future)
    }

    /// Returns a write of an entity, and the entity's rows.
    fn encoded(&self, schema: Schema, entity: &dyn WriteEntity) -> Result<(Write, Encoded)> {
        let encoded = Encoded::of(entity)?;
        Ok((Write::new(self.clone(), schema)?, encoded))
    }
}

/// Returns the primary key of a changed entity.
///
/// # Errors
/// The entity was loaded with another key.
pub(crate) fn unchanged_key(entity: &dyn WriteEntity, state: &StoredState) -> Result<RowKeys> {
    let (was, keys) = (state.loaded_key(entity)?, entity::keys(entity)?);
    if was == keys {
        return Ok(keys);
    }
    let RowKeys { partition_key, row_key } = was;
    let table = entity.info().layouts[0].table_of(&partition_key, &row_key)?.into_owned();
    let was = RowId { table, partition_key, row_key };
    let RowKeys { partition_key, row_key } = keys;
    Err(Box::new(KeyChangedError { was, partition_key, row_key }).into())
}

/// Returns the two keys of a point that is written.
pub(crate) fn point(key: &Plan) -> Result<RowKeys> {
    let (partition_key, row_key) = key.checked_keys()?;
    Ok(RowKeys { partition_key: partition_key.to_owned(), row_key: row_key.to_owned() })
}

/// Returns the keys of the row that a patch changes, and the properties that it sets.
pub(crate) fn patched<E>(key: &Plan, sets: impl Sets<E>) -> Result<(RowKeys, Properties)> {
    let (mut patch, keys) = (Properties::default(), point(key)?);
    for Set { name, value, .. } in sets.into_sets() {
        set(&mut patch, key.table(), &keys, name, value)?;
    }
    Ok((keys, patch))
}

/// Sets a property of a patch.
fn set(
    patch: &mut Properties,
    table: &str,
    keys: &RowKeys,
    name: &str,
    value: Result<Value, PropertyProblem>,
) -> Result<()> {
    let value = value.map_err(|problem| codec::unwritable(table, keys, name, problem))?;
    patch.set(name, value.as_ref());
    Ok(())
}
