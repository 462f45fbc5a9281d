//! Read, change and write: writes that begin again if another writer interferes.

use std::{any::TypeId, sync::Arc};

use table_model::{
    TableEntity,
    unstable::{
        entity::{Unknown, WriteEntity},
        layout::LayoutExt,
        lifecycle::Standing,
    },
};
use table_store::{
    ETag, Error, Properties, Result, Row, RowId, RowRef, Ticks, backend::BoxFuture, error::Refused, unstable::RowKeys,
};

use crate::{
    client::{
        pacing,
        stored::{self, Stored, StoredState},
        tables::{InLine, Outcome, PassedRow, RoundAnswer, Tables, Turn},
    },
    query::{OwnKey, Point, ReturnsNothing},
    read::Plan,
    write::{
        index::{Encoded, EncodedRow, EntityWrite, FoundEntity, Occupant, Schema, Verb, execute_one},
        writable::NewEntity,
    },
};

impl Tables {
    /// Reads the entity with this key, changes it and writes it back. Returns the entity as it was stored; `None` if
    /// there is no visible entity with this key, or it was deleted or expired in the meantime. With
    /// [`with_deleted`](Point::with_deleted) on the key, an entity in the bin is changed too.
    ///
    /// If another writer changes the row between the read and the write, both are repeated after a short delay, so that
    /// no change is lost. `change` may run several times: after a lost race, and if its change needs a turn of its own, such as
    /// that of an indexed value. Each time it gets the entity as it was just read, or as another task of its
    /// [round](crate::guide::counters#rounds) has left it; that state may never be stored. The entity is written even if
    /// `change` leaves it as it is.
    ///
    /// A missing entity is no error: look at the result, or write [`modify_or_insert`](Self::modify_or_insert).
    ///
    /// Calls of `modify` and [`modify_or_insert`](Self::modify_or_insert) for one row take turns, in the order in which they
    /// began, if they use one handle, clones of it, or handles that were made from it, such as those with a prefix. So they
    /// do not lose races to each other. If several calls wait, up to 100 of them share one read and one write: see
    /// [rounds](crate::guide::counters#rounds). Each of them returns the entity as after its own change. Only the last one has
    /// the version that is stored then, so an [`update`](Self::update) of another one returns [`Error::ConditionNotMet`].
    ///
    /// A call waits for its turn for ten seconds at most, and then goes on as if it had it. Other writers, such as other
    /// processes, are not waited for: the delay after a lost race is a multiple of the time that the attempt took, up to 200 ms.
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
    /// again for each repetition; in a round, for all of its calls together.
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
            let mut place = tables.in_line_of::<K::Entity>(&keys?);
            let mut change = |entity: &mut K::Entity| {
                change(entity);
                Ok(())
            };
            modify_present(&tables, &key, &mut change, &mut place, &mut pacing::delays()).await
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
            let mut place = tables.in_line_of::<N::Entity>(keys);
            let mut delays = pacing::delays();
            let mut change = |entity: &mut N::Entity| {
                change(entity);
                Ok(())
            };
            loop {
                if let Some(stored) = modify_present(&tables, &key, &mut change, &mut place, &mut delays).await? {
                    return Ok(stored);
                }
                match insert_absent(&tables, Schema::of::<N::Entity>(), &new).await? {
                    Inserted::New(etag, read) => return as_stored(&new, read.as_ref(), &etag),
                    Inserted::Present(_, error) | Inserted::LostRace(error) => {
                        pacing::wait(tables.backend(), &mut delays, error).await?;
                    }
                }
            }
        }))
    }

    /// Inserts the entity, unless there is one with its key. Returns the entity that is stored, and true if it is the new one.
    /// A present entity stays as it is.
    ///
    /// So a message that is delivered twice, or a request that is repeated, is carried out once: insert what it asks for under
    /// an id that the sender has chosen, and compare what is returned.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// #[table(row = "message")]
    /// struct Message {
    ///     #[partition_key]
    ///     id: String,
    ///     text: String,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Message>().await?;
    /// let message = |text: &str| Message { id: "m7".into(), text: text.into() };
    /// let (stored, is_new) = tables.get_or_insert(&message("first")).await?;
    /// assert!(is_new && stored.text == "first");
    /// let (stored, is_new) = tables.get_or_insert(&message("second")).await?;
    /// assert!(!is_new && stored.text == "first");
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// A new entity takes the requests of [`insert`](Self::insert), and a present one takes three, if it has no rows in other
    /// partitions: the insert, a look at what is in its way, and the read. An insert of another writer that is not committed is no entity: of
    /// two calls at the same time, one inserts and the other one returns what it has inserted. An entity that has expired makes
    /// way.
    ///
    /// # Errors
    /// Returns [`Error::UniqueViolation`], which names the index, the value and its owner, if a unique value belongs to an
    /// entity with another key; [`Error::AlreadyExists`] if the row belongs to an entity of another kind, or to one in the bin;
    /// and the errors of [`insert`](Self::insert) and of [`Point::get`]. If the answer of the insert was lost, it is
    /// [`Error::OutcomeUnknown`], unless a `write_id`, or rows in other partitions, show that the entity was inserted. Call it
    /// again then.
    #[allow(clippy::needless_pass_by_value, reason = "it is a reference")]
    pub fn get_or_insert<N: NewEntity>(&self, entity: N) -> BoxFuture<'static, Result<(Stored<N::Entity>, bool)>> {
        let (tables, schema, new) = (self.of_primary(), Schema::of::<N::Entity>(), Encoded::of(entity.new_entity()));
        Box::pin(self.observed(schema, "get_or_insert", async move {
            let new = new?;
            let RowKeys { partition_key, row_key } = &new.primary.keys;
            let key = Point::<N::Entity>::new(Plan::of_keys::<N::Entity>(partition_key, row_key));
            let mut delays = pacing::delays();
            loop {
                let error = match insert_absent(&tables, schema, &new).await? {
                    Inserted::New(etag, read) => return Ok((as_stored(&new, read.as_ref(), &etag)?, true)),
                    Inserted::Present(row, error) => match key.in_row(&tables, row.as_ref())? {
                        Some(stored) => return Ok((stored, false)),
                        // It has expired since.
                        None => error,
                    },
                    Inserted::LostRace(error) => error,
                };
                pacing::wait(tables.backend(), &mut delays, error).await?;
            }
        }))
    }
}

impl Tables {
    /// Returns a place in the line for a row, whose task shares rounds.
    fn in_line_of<E: TableEntity>(&self, keys: &RowKeys) -> InLine<'_> {
        let schema = Schema::of::<E>();
        let shares = (TypeId::of::<E>(), self.leases().has_held(&schema.own_id()));
        self.in_line(schema.table(), keys, Some(shares))
    }
}

/// Reads an entity when the turn of this task comes, changes it and writes it back, until no other writer interferes. Returns
/// `None` if there is none; then the task keeps its turn.
pub(super) async fn modify_present<E: TableEntity>(
    tables: &Tables,
    key: &Point<E>,
    change: &mut (dyn FnMut(&mut E) -> Result<()> + Send),
    place: &mut InLine<'_>,
    delays: &mut pacing::Delays,
) -> Result<Option<Stored<E>>> {
    let (tables, schema, mut lost_race) = (tables.of_primary(), Schema::of::<E>(), None);
    loop {
        let turn = place.turn().await;
        match lost_race.take() {
            Some(error) if matches!(turn, Turn::Own) => pacing::wait(tables.backend(), delays, error).await?,
            _ => delays.begin(),
        }
        let (mut stored, passed) = match turn {
            Turn::Own => match key.clone().get(&tables).await? {
                Some(stored) => (stored, None),
                None => return Ok(None),
            },
            Turn::Passed(passed) => {
                // What the tasks before have left may never be stored, so it decides nothing for this one.
                let Some(stored) = key.in_row(&tables, passed.row.as_ref().as_ref()).unwrap_or_default() else {
                    place.decline();
                    continue;
                };
                (stored, Some(passed))
            }
        };
        change(&mut stored)?;
        let is_own = passed.is_none();
        if let Some(unknown) = pass_on(&tables, schema, stored.parts(), passed, place) {
            let version = match place.answer().await {
                RoundAnswer::Written(version) => version.unwrap_or_else(|| Stored::etag(&stored).clone()),
                RoundAnswer::Unknown(lost) => return Err(lost.into()),
                RoundAnswer::Again => {
                    let plan = OwnKey::plan(key);
                    lost_race = Some(Error::ConditionNotMet(RowId::of(&plan.row_table()?, &plan.row_keys()?).into()));
                    continue;
                }
                RoundAnswer::Alone => continue,
            };
            stored.parts_mut().1.written(version, unknown);
            return Ok(Some(stored));
        }
        if !is_own {
            place.decline();
            continue;
        }
        match tables.update(&mut stored).await {
            Ok(_) => return Ok(Some(stored)),
            Err(Error::NotFound(_)) => return Ok(None),
            Err(error @ Error::ConditionNotMet(_)) => lost_race = Some(error),
            Err(error) => return Err(error),
        }
    }
}

/// Passes a changed entity on to the next task of the round, or begins a round with it. Returns the properties that the struct
/// does not know; `None` if this task needs the row for itself, or if no other task waits.
fn pass_on(
    tables: &Tables,
    schema: Schema,
    (entity, state): (&dyn WriteEntity, &StoredState),
    passed: Option<PassedRow>,
    place: &InLine<'_>,
) -> Option<Unknown> {
    if passed.is_none() && !place.is_followed() {
        return None;
    }
    let update = EntityWrite::update(entity, state).ok()?;
    let read = match passed {
        Some(passed) => passed.read,
        None => Arc::new(update.loaded()?.clone()),
    };
    let mut begun = tables.begin_write(schema, Ok(update.over(&read))).ok()?;
    let (properties, unknown) = begun.row_afterwards()?;
    let RowKeys { partition_key, row_key } = begun.entity.keys().clone();
    let (etag, timestamp) = (state.etag().clone(), state.timestamp());
    let row = Arc::new(Row { partition_key, row_key, properties, etag, timestamp });
    place.pass(PassedRow { row, read }, async move {
        match execute_one(&mut begun).await.map_err(|failure| failure.error) {
            Ok(written) => Outcome::Written(begun.version(written.etag).await),
            Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Outcome::LostRace,
            Err(Error::OutcomeUnknown(lost)) => Outcome::Unknown(lost),
            Err(_) => Outcome::Refused,
        }
    });
    Some(unknown)
}

/// What an insert has found.
enum Inserted {
    /// The entity was inserted, with this ETag. A patch may have changed its properties to these.
    New(ETag, Option<Properties>),
    /// This row, the entity itself, is in the way.
    Present(Row, Error),
    /// Another writer interfered.
    LostRace(Error),
}

/// Inserts an entity, unless there is one with its key that readers see.
///
/// # Errors
/// Returns [`Error::AlreadyExists`] for an entity of another kind, or in the bin: readers do not see it, so a repetition would
/// find none again. Returns [`Error::UniqueViolation`] for a value of another entity. An insert that is refused for a value of
/// the entity itself has found it.
async fn insert_absent(tables: &Tables, schema: Schema, new: &Encoded) -> Result<Inserted> {
    let mut insert = tables.begin_write(schema, Ok(EntityWrite::put_encoded(Verb::Insert, new.clone())))?;
    let error = match execute_one(&mut insert).await.map_err(|failure| failure.error) {
        Ok(written) => return Ok(Inserted::New(insert.version(written.etag).await?, written.read)),
        Err(Error::AlreadyExists(row)) if row.is_in_bin() => return Err(Error::AlreadyExists(row)),
        Err(error @ (Error::AlreadyExists(_) | Error::UniqueViolation(_))) => error,
        Err(error) => return Err(error),
    };
    let present = match insert.write.occupant(insert.entity.keys()).await? {
        Occupant::OtherKind => return Err(error),
        Occupant::Entity(found) => Some(*found).filter(|found| found.pending.is_none()),
        Occupant::None => None,
    };
    // A unique value of another entity stays taken.
    let is_own = match &error {
        Error::UniqueViolation(violation) => violation.owner == violation.entity,
        _ => true,
    };
    let standing = |found: &FoundEntity| found.standing(&schema, tables.backend().earliest());
    match (present.as_ref().map_or(Ok(Standing::Expired), standing)?, present) {
        (Standing::Visible, Some(found)) => Ok(Inserted::Present(found.row, error)),
        // Nothing is in the way any more.
        (Standing::Expired, _) if is_own => Ok(Inserted::LostRace(error)),
        // It may have come there since.
        (Standing::InBin, _) => Err(Error::AlreadyExists(Refused::from(insert.row_id()?).in_bin(true))),
        _ => Err(error),
    }
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
