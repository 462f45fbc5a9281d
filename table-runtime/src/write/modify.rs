//! Read, change and write: writes that begin again if another writer interferes.

use table_model::{TableEntity, unstable::layout::LayoutExt};
use table_store::{ETag, Error, Properties, Result, RowRef, Ticks, backend::BoxFuture};

use crate::{
    client::{
        pacing,
        stored::{self, Stored},
        tables::Tables,
    },
    query::{OwnKey, Point, ReturnsNothing},
    read::Plan,
    write::{
        index::{Encoded, EncodedRow, EntityWrite, Occupant, Schema, Verb, execute_one},
        writable::NewEntity,
    },
};

impl Tables {
    /// Reads the entity with this key, changes it and writes it back. Returns the entity as it was stored; `None` if
    /// there is no visible entity with this key, or it was deleted or expired in the meantime. With
    /// [`with_deleted`](Point::with_deleted) on the key, an entity in the bin is changed too.
    ///
    /// If another writer changes the row between the read and the write, both are repeated after a short delay, so that
    /// no change is lost. `change` therefore may run several times, each time with the entity as it was just read. The
    /// entity is written even if `change` leaves it as it is.
    ///
    /// A missing entity is no error: look at the result, or write [`modify_or_insert`](Self::modify_or_insert).
    ///
    /// Calls of `modify` and [`modify_or_insert`](Self::modify_or_insert) for one row take turns, in the order in which they
    /// began, if they use one handle, clones of it, or handles that were made from it, such as those with a prefix. So they
    /// do not lose races to each other. A call waits for its turn for ten seconds at most, and then goes on as if it had it.
    /// Other writers, such as other processes, are not waited for: the delay after a lost race is a multiple of the time
    /// that the attempt took, up to 200 ms.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key]
    ///     id: u32,
    ///     likes: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Post>().await?;
    /// tables.insert(&Post { author: "Marcus".into(), id: 1, likes: 0 }).await?;
    ///
    /// let post = tables.modify(Post::key("Marcus", 1), |post| post.likes += 1).await?;
    /// assert_eq!(post.expect("it was inserted").likes, 1);
    ///
    /// let missing = tables.modify(Post::key("Marcus", 2), |post| post.likes += 1).await?;
    /// assert!(missing.is_none());
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Takes one request more than [`update`](Self::update), which is two for an entity without indexes, and the same
    /// again for each repetition.
    ///
    /// # Errors
    /// Returns the errors of [`Point::get`] and of [`update`](Self::update).
    /// [`Error::ConditionNotMet`] is returned only if other writers were faster in each of 201 attempts.
    /// [`Error::OutcomeUnknown`] is returned as it is, because a repetition could apply the change twice.
    #[allow(clippy::needless_pass_by_value, reason = "as every verb takes its key")]
    pub fn modify<'a, K, R>(
        &self,
        key: K,
        mut change: impl FnMut(&mut K::Entity) -> R + Send + 'a,
    ) -> BoxFuture<'a, Result<Option<Stored<K::Entity>>>>
    where
        K: OwnKey<Entity: TableEntity>,
        R: ReturnsNothing,
    {
        let (tables, keys, key) = (self.clone(), key.plan().row_keys(), Point::new(key.plan().clone()));
        Box::pin(self.observed(Schema::of::<K::Entity>(), "modify", async move {
            let keys = keys?;
            let _turn = tables.turn(Schema::of::<K::Entity>().table(), &keys).await;
            let mut change = |entity: &mut K::Entity| {
                change(entity);
                Ok(())
            };
            modify_present(&tables, &key, &mut change, &mut pacing::delays()).await
        }))
    }

    /// Reads the entity that has the key of `entity`, changes it and writes it back, as [`modify`](Self::modify) does.
    /// If there is no row with this key, or its entity has expired, inserts `entity` as it is given, without calling `change`.
    /// Returns the entity as it was stored.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// #[table(row = "visits")]
    /// struct Visits {
    ///     #[partition_key]
    ///     page: String,
    ///     count: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Visits>().await?;
    /// for expected in 1..=3 {
    ///     let first = Visits { page: "/".into(), count: 1 };
    ///     let visits = tables.modify_or_insert(&first, |visits| visits.count += 1).await?;
    ///     assert_eq!(visits.count, expected);
    /// }
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Takes one request more than [`update`](Self::update) if there is such a row, otherwise one more than
    /// [`insert`](Self::insert). If another writer inserts, changes or deletes the row in the meantime, everything is
    /// repeated.
    ///
    /// # Errors
    /// Returns the errors of [`modify`](Self::modify) and of [`insert`](Self::insert).
    /// [`Error::AlreadyExists`] means that the row belongs to an entity of another kind, or to one in the bin.
    #[allow(clippy::needless_pass_by_value, reason = "it is a reference")]
    pub fn modify_or_insert<'a, N, C, R>(&self, entity: N, mut change: C) -> BoxFuture<'a, Result<Stored<N::Entity>>>
    where
        N: NewEntity,
        C: FnMut(&mut N::Entity) -> R + Send + 'a,
        R: ReturnsNothing,
    {
        let (tables, new) = (self.clone(), Encoded::of(entity.new_entity()));
        Box::pin(self.observed(Schema::of::<N::Entity>(), "modify_or_insert", async move {
            let new = new?;
            let keys = &new.primary.keys;
            let key = Point::new(Plan::of_keys::<N::Entity>(&keys.partition_key, &keys.row_key));
            let _turn = tables.turn(Schema::of::<N::Entity>().table(), keys).await;
            let mut delays = pacing::delays();
            let mut change = |entity: &mut N::Entity| {
                change(entity);
                Ok(())
            };
            loop {
                if let Some(stored) = modify_present(&tables, &key, &mut change, &mut delays).await? {
                    return Ok(stored);
                }
                if let Some((etag, read)) = insert_absent(&tables, Schema::of::<N::Entity>(), &new, &mut delays).await?
                {
                    return as_stored(&new, read.as_ref(), &etag);
                }
            }
        }))
    }
}

/// Reads an entity, changes it and writes it back, until no other writer interferes; `None` if there is none.
pub(super) async fn modify_present<E: TableEntity>(
    tables: &Tables,
    key: &Point<E>,
    change: &mut (dyn FnMut(&mut E) -> Result<()> + Send),
    delays: &mut pacing::Delays,
) -> Result<Option<Stored<E>>> {
    let tables = tables.of_primary();
    loop {
        let Some(mut stored) = key.clone().get(&tables).await? else { return Ok(None) };
        change(&mut stored)?;
        match tables.update(&mut stored).await {
            Ok(_) => return Ok(Some(stored)),
            Err(Error::NotFound(_)) => return Ok(None),
            Err(error @ Error::ConditionNotMet(_)) => pacing::wait(tables.backend(), delays, error).await?,
            Err(error) => return Err(error),
        }
    }
}

/// Inserts an entity. Returns its ETag, and its properties if a patch may have changed them; `None` if another writer
/// interfered.
async fn insert_absent(
    tables: &Tables,
    schema: Schema,
    new: &Encoded,
    delays: &mut pacing::Delays,
) -> Result<Option<(ETag, Option<Properties>)>> {
    let mut insert = tables.begin_write(schema, Ok(EntityWrite::put_encoded(Verb::Insert, new.clone())))?;
    let error = match execute_one(&mut insert).await.map_err(|failure| failure.error) {
        Ok(written) => return Ok(Some((insert.version(written.etag).await?, written.read))),
        // Readers do not see an entity of another kind, or in the bin, so a repetition would find none again.
        Err(Error::AlreadyExists(row)) if row.is_in_bin() => return Err(Error::AlreadyExists(row)),
        Err(error @ Error::AlreadyExists(_)) => match insert.write.occupant(insert.entity.keys()).await? {
            Occupant::OtherKind => return Err(error),
            Occupant::Entity(_) | Occupant::None => error,
        },
        Err(error) => return Err(error),
    };
    pacing::wait(tables.backend(), delays, error).await?;
    Ok(None)
}

/// Returns an entity as a read returns it after an insert. `read` are the properties that the insert has read.
fn as_stored<E: TableEntity>(new: &Encoded, read: Option<&Properties>, etag: &ETag) -> Result<Stored<E>> {
    let EncodedRow { keys, properties, .. } = &new.primary;
    let table = E::INFO.layouts[0].table_of(&keys.partition_key, &keys.row_key)?;
    let row = RowRef {
        partition_key: &keys.partition_key,
        row_key: &keys.row_key,
        properties: read.unwrap_or(properties).as_ref(),
        etag,
        timestamp: etag.timestamp().unwrap_or(Ticks::UNIX_EPOCH),
    };
    stored::read(&table, row)
}
