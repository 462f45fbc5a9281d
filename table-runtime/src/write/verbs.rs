//! Writes of one entity.

use table_model::{
    Sets, TableEntity,
    property::large,
    unstable::{codec, column::assignment, entity::WriteEntity},
};
use table_store::{
    ETag, Error, Properties, Result, Value,
    backend::BoxFuture,
    error::PropertyProblem,
    unstable::{
        RowKeys,
        observe::{Observed, observed},
    },
};

use crate::{
    client::{stored::StoredState, tables::Tables},
    query::OwnKey,
    read::Plan,
    write::{
        index::{BegunWrite, EntityWrite, Schema, Verb, Write, WriteFailure, execute_one},
        writable::{AsEntity, Deletable, Updatable},
    },
};

impl Tables {
    /// Writes a new row and returns its ETag, with one request. With k index rows in other partitions, it takes 2 + k
    /// requests. A copy in another partition takes one more write and one more read.
    ///
    /// If the entity with this key has expired (`#[table(expires = …)]`), the new one takes its place, and keeps nothing of it.
    /// An expired entity that has one of its unique values is deleted first. Only then does an insert take more requests:
    /// see [expiry](crate::guide::lifecycle#the-cost).
    ///
    /// # Errors
    /// Returns [`Error::AlreadyExists`](crate::Error::AlreadyExists) if there is a row with this key, also that of an entity
    /// in the bin, which takes one more request; [`Error::UniqueViolation`](crate::Error::UniqueViolation) if the value of
    /// a unique index belongs to another entity; [`Error::Key`](crate::Error::Key) and
    /// [`Error::Limit`](crate::Error::Limit) for values that no row can hold;
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost;
    /// [`Error::Aborted`](crate::Error::Aborted) if the insert took so long that other writers treated each of its 200
    /// attempts as abandoned. If the key and a unique value are both taken, it is one of the two errors: expect both.
    /// An insert that loses a race to another one gets the first or the second error, as if it had begun later.
    pub fn insert<E: TableEntity>(&self, entity: &(impl AsEntity<E> + ?Sized)) -> BoxFuture<'static, Result<ETag>> {
        self.put_erased(Schema::of::<E>(), Verb::Insert, entity.as_entity())
    }

    /// Writes the row, new or in place of the one with this key, and returns its ETag, with one request. An entity with
    /// indexes or events is read first, and then inserted or updated.
    ///
    /// Properties of the present row that the struct does not know are removed: [`merge`](Self::merge) keeps them. A row
    /// of a newer version than that of the struct is replaced unnoticed if the entity has neither indexes nor events, and
    /// [`Error::Version`](crate::Error::Version) otherwise; for `merge` it is always that error. An entity that has expired, or
    /// is in the bin, is replaced like any other.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert), except [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    pub fn upsert<E: TableEntity>(&self, entity: &(impl AsEntity<E> + ?Sized)) -> BoxFuture<'static, Result<ETag>> {
        self.put_erased(Schema::of::<E>(), Verb::Upsert, entity.as_entity())
    }

    /// Inserts the entity, or writes it over the present one and keeps the properties of the row that the struct does
    /// not know. Returns the new ETag. The row is read before the write, so a merge takes at least two requests.
    ///
    /// The entity that is read afterwards equals `entity`: a property of the struct that `entity` does not have, because
    /// the field is `None`, is removed. Nothing is kept of an entity that has expired. To set some properties alone, use
    /// [`patch`](Self::patch).
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
    pub fn merge<E: TableEntity>(&self, entity: &(impl AsEntity<E> + ?Sized)) -> BoxFuture<'static, Result<ETag>> {
        self.put_erased(Schema::of::<E>(), Verb::Merge, entity.as_entity())
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
    /// [`Error::NotFound`](crate::Error::NotFound) if the row is gone, or the entity has expired by the time with which it was
    /// loaded; [`Error::KeyChanged`](crate::Error::KeyChanged)
    /// if the entity's key is not the one that it was read with;
    /// [`Error::UniqueViolation`](crate::Error::UniqueViolation) and [`Error::Limit`](crate::Error::Limit) as
    /// [`insert`](Self::insert) does; [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost.
    /// After any of these errors, `stored` keeps the entity as it was given. Its ETag is a new one if the update had to
    /// write to the row to roll back index rows.
    pub fn update<'a, S: Updatable /* with a closure: `.modify(T::key(…), |post| …)` */>(
        &'a self,
        stored: &'a mut S,
    ) -> BoxFuture<'a, Result<ETag>> {
        let (entity, state) = stored.as_read_mut().parts_mut();
        self.update_erased(Schema::of::<S::Entity>(), EntityWrite::update(entity, state), state)
    }

    /// Sets some properties of the row, whatever its version, and keeps its other properties. Returns the new ETag,
    /// with one request: the row is not read. If the row is an insert that is not committed yet, and that insert is
    /// aborted, the changes are lost with it. A patch of an entity that has expired, or is in the bin, is applied.
    ///
    /// An entity with `#[table(events)]` is read first, which takes one more request. Then an entity that has expired, and an
    /// insert that is not committed, are not found, and a row of a newer version is [`Error::Version`](crate::Error::Version).
    ///
    /// A row of an older version, which `#[table(from = …)]` reads, stays one: only properties that rows of every version
    /// store in the same way can be set. A row of a newer version than that of the struct is patched unnoticed.
    ///
    /// Only properties that no key and no index depends on can be set, and no time that hides the entity:
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// tables.patch(Post::key("Marcus", 1), |post| [post.title.set("Sums"), post.likes.set(2)]).await?;
    ///
    /// // Some of them, as for a request whose body has not every property.
    /// let (title, likes): (Option<String>, Option<u32>) = (Some("Primes".into()), None);
    /// tables
    ///     .patch(Post::key("Marcus", 1), |post| {
    ///         [title.map(|title| post.title.set(title)), likes.map(|likes| post.likes.set(likes))]
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound) if there is no such row: a patch never creates one;
    /// [`Error::Query`](crate::Error::Query) for a property that rows of an older version do not have, or store otherwise. The
    /// other errors are those of [`insert`](Self::insert).
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn patch<K, I, By>(
        &self,
        key: K,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> BoxFuture<'static, Result<ETag>>
    where
        K: OwnKey<Entity: TableEntity>,
        I: Sets<K::Entity, By>,
    {
        self.patched(key.plan(), None, sets(<K::Entity as TableEntity>::COLUMNS))
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
    pub fn patch_if<K, I, By>(
        &self,
        key: K,
        etag: &ETag,
        sets: impl FnOnce(<K::Entity as TableEntity>::Columns) -> I,
    ) -> BoxFuture<'static, Result<ETag>>
    where
        K: OwnKey<Entity: TableEntity>,
        I: Sets<K::Entity, By>,
    {
        self.patched(key.plan(), Some(etag.clone()), sets(<K::Entity as TableEntity>::COLUMNS))
    }

    fn patched<E: TableEntity, By>(
        &self,
        key: &Plan,
        expected: Option<ETag>,
        sets: impl Sets<E, By>,
    ) -> BoxFuture<'static, Result<ETag>> {
        self.write_version(Schema::of::<E>(), Verb::Patch, patched(key, expected, sets))
    }

    /// Deletes the row of the entity, if it has not changed since it was read, with one request. With k index rows in
    /// other partitions, it takes 1 + 2k requests. A [`Stored::new`](crate::Stored::new) of an entity that has indexes, or can
    /// expire, takes one more read.
    ///
    /// # Errors
    /// Returns [`Error::ConditionNotMet`](crate::Error::ConditionNotMet) if the row has changed;
    /// [`Error::NotFound`](crate::Error::NotFound) if the row is gone, or the entity has expired by the time with which it was
    /// loaded;
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown) if the answer was lost.
    #[allow(clippy::needless_pass_by_value, reason = "an entity or a reference")]
    pub fn delete<S: Deletable>(&self, stored: S) -> BoxFuture<'static, Result<()>> {
        let (entity, state) = stored.as_read().parts();
        self.delete_erased(Schema::of::<S::Entity>(), EntityWrite::delete(entity, state))
    }

    /// Deletes the row with this key, whatever its version. Returns true if there was one. An entity with indexes is
    /// read first, also if only other programs have the indexes and the handle has called
    /// [`create`](Self::create): a row whose insert a crash has cut off is no entity, and the answer is false. (Once another
    /// program has added the first index of the entity, the handle knows it when it renews its
    /// [lease](Self::with_lease), after a minute at the latest. Until then the answer is true for an insert of that program
    /// that was cut off or is under way; the one under way begins anew.) The row of an
    /// entity that has expired, or is in the bin, is deleted too, and the answer is true. This verb never puts an entity into
    /// the bin: [`soft_delete`](Self::soft_delete) does.
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
        self.remove_erased(Schema::of::<K::Entity>(), key.plan().row_keys().map(EntityWrite::remove))
    }
}

/// The verbs without the entity's type.
impl Tables {
    fn put_erased(&self, schema: Schema, verb: Verb, entity: &dyn WriteEntity) -> BoxFuture<'static, Result<ETag>> {
        self.write_version(schema, verb, EntityWrite::put(verb, entity))
    }

    /// Carries out a write after which the entity has a version.
    fn write_version(
        &self,
        schema: Schema,
        verb: Verb,
        entity: Result<EntityWrite>,
    ) -> BoxFuture<'static, Result<ETag>> {
        let begun = self.begin_write(schema, entity);
        Box::pin(self.observed(schema, verb.name(), async move {
            let mut begun = begun?;
            let written = execute_one(&mut begun).await.map_err(|failure| failure.error)?;
            Ok(begun.version(written.etag).await?)
        }))
    }

    fn update_erased<'a>(
        &self,
        schema: Schema,
        entity: Result<EntityWrite>,
        state: &'a mut StoredState,
    ) -> BoxFuture<'a, Result<ETag>> {
        let begun = self.begin_write(schema, entity);
        Box::pin(self.observed(schema, Verb::Update.name(), async move {
            let mut begun = begun?;
            let written = match execute_one(&mut begun).await {
                Ok(written) => written,
                Err(failure) => {
                    if let Some(version) = begun.entity.version() {
                        state.set_etag(version);
                    }
                    return Err(failure.error);
                }
            };
            let etag = begun.version(written.etag).await?;
            state.written(etag.clone(), written.unknown);
            Ok(etag)
        }))
    }

    fn delete_erased(&self, schema: Schema, entity: Result<EntityWrite>) -> BoxFuture<'static, Result<()>> {
        let begun = self.begin_write(schema, entity);
        Box::pin(self.observed(schema, Verb::Delete.name(), async move {
            execute_one(&mut begun?).await.map(drop).map_err(|failure| failure.error)
        }))
    }

    fn remove_erased(&self, schema: Schema, entity: Result<EntityWrite>) -> BoxFuture<'static, Result<bool>> {
        let begun = self.begin_write(schema, entity);
        Box::pin(self.observed(schema, Verb::Remove.name(), async move {
            match execute_one(&mut begun?).await {
                Ok(_) => Ok(true),
                Err(WriteFailure { error: Error::NotFound(_), .. }) => Ok(false),
                Err(failure) => Err(failure.error),
            }
        }))
    }

    pub(crate) fn begin_write(&self, schema: Schema, entity: Result<EntityWrite>) -> Result<BegunWrite> {
        let entity = entity?;
        Ok(entity.begin(Write::new(self.clone(), schema)?))
    }

    /// Returns the future of a user's operation on an entity.
    pub(crate) fn observed<F>(&self, schema: Schema, verb: &'static str, future: F) -> Observed<F> {
        observed(self.begin_operation(|| schema.operation(verb)), future)
    }
}

/// Returns the patch of a row, which must have the expected version if there is one.
pub fn patched<E, By>(key: &Plan, expected: Option<ETag>, sets: impl Sets<E, By>) -> Result<EntityWrite> {
    let (mut properties, keys) = (Properties::default(), key.row_keys()?);
    for (name, value, is_large) in sets.into_sets().map(assignment) {
        key.check_set(name)?;
        set(&mut properties, key.table(), &keys, (name, is_large), value)?;
    }
    Ok(EntityWrite::patch(keys, properties, expected))
}

/// Sets a property of a patch.
fn set(
    patch: &mut Properties,
    table: &str,
    keys: &RowKeys,
    (name, is_large): (&'static str, bool),
    value: Result<Value, PropertyProblem>,
) -> Result<()> {
    let set = value.and_then(|value| {
        if is_large {
            return large::patch(patch, name, value.as_ref());
        }
        patch.set(name, value.as_ref());
        Ok(())
    });
    set.map_err(|problem| codec::unwritable(table, keys, name, problem))
}
