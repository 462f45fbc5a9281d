//! One write of an entity: its id, its reads of the entity and of index rows, its writes of single rows, and the meaning
//! of their answers.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use table_model::{
    Lifecycle,
    unstable::{
        entity::{KIND, PENDING, WRITE_ID, is_kind},
        layout::LayoutExt,
        lifecycle::Standing,
    },
};
use table_store::{
    ETag, Error, Guid, Properties, Result, Row, RowId, ValueRef,
    backend::{Action, BackendExt, BoxFuture, Group, IfMatch, Operation, Reach},
    error::{OutcomeUnknownError, RowNow, UniqueViolationError},
    unstable::{RowKeys, client::Client, limits, observe::Running},
};

use super::schema::{Encoded, EncodedRow, FoundEntity, Schema, pending};
use crate::{
    client::{pacing, tables::Tables},
    read::several::{Shown, several},
};

/// A write of one entity and of its index rows.
pub struct Write {
    pub tables: Tables,
    pub schema: Schema,
    /// The write id: it is stored in claims, and in entities with a `WriteId`.
    ///
    /// A write treats every row that carries its id as its own. No two writes share an id.
    pub id: Guid,
    pub(super) reach: Reach,
    /// Whether the write may delete an entity that has expired, to get its unique value.
    pub(super) takes_over: bool,
    /// True if a step has ended because no attempt was left. The write does not begin anew then.
    gave_up: AtomicBool,
}

/// The answer to a request that writes rows.
pub enum WriteAnswer {
    /// The request was carried out, and gave its first row this version.
    Done(Option<ETag>),
    /// The condition of the request does not hold: another writer was faster. Nothing was written.
    LostRace(Error),
    /// The answer was lost. The request may have been carried out, or may still be.
    Lost(Box<OutcomeUnknownError>),
}

impl WriteAnswer {
    /// Returns the answer in the result of a request.
    ///
    /// # Errors
    /// Returns any other error of the request. Nothing was written.
    pub fn of(result: Result<Vec<Option<ETag>>>) -> Result<Self> {
        match result {
            Ok(etags) => Ok(Self::Done(etags.into_iter().next().flatten())),
            Err(error @ (Error::AlreadyExists(_) | Error::ConditionNotMet(_) | Error::NotFound(_))) => {
                Ok(Self::LostRace(error))
            }
            Err(Error::OutcomeUnknown(error)) => Ok(Self::Lost(error)),
            Err(error) => Err(error),
        }
    }

    /// Checks whether a row that was to be fenced or deleted cannot be written any more under the version that was read:
    /// the request was carried out, or the row is gone.
    pub const fn is_settled(&self) -> bool {
        matches!(self, Self::Done(_) | Self::LostRace(Error::NotFound(_)))
    }

    /// Returns the error of a lost answer, if it was lost.
    pub fn lost(self) -> Option<Box<OutcomeUnknownError>> {
        if let Self::Lost(error) = self { Some(error) } else { None }
    }
}

/// A row of a cross-partition index in the version that this write wrote or read.
pub struct WrittenRow {
    pub layout: usize,
    pub keys: RowKeys,
    pub etag: ETag,
}

/// The row at an entity's keys.
pub enum Occupant {
    /// No row.
    None,
    /// The entity, committed or pending.
    Entity(Box<FoundEntity>),
    /// An entity of another kind. A write cannot replace it.
    OtherKind,
}

/// What there is at an entity's keys.
pub enum EntityState {
    None,
    /// The pending insert of this attempt, which no reader sees, in this version.
    Pending(Guid, ETag),
    /// A committed entity, of this kind or another one.
    Committed(Standing),
}

impl Write {
    /// Returns a write with a new id.
    pub fn new(tables: Tables, schema: Schema) -> Result<Self> {
        Self::with_id_of(tables, schema, Guid::random)
    }

    /// Returns a write with an id that `new_id` returns.
    pub fn with_id_of(
        tables: Tables,
        schema: Schema,
        new_id: impl FnOnce() -> Result<Guid, getrandom::Error>,
    ) -> Result<Self> {
        // Without a `WriteId` and without claims, no row carries the id.
        let has_id = schema.write_id || schema.before_commit().any(|layout| schema.is_unique(layout));
        let id = if has_id { new_id()? } else { Guid::default() };
        let reach = tables.backend().reach();
        Ok(Self { tables, schema, id, reach, takes_over: true, gave_up: AtomicBool::new(false) })
    }

    /// Checks whether a removal has to read the row: index rows depend on it, or it may be a pending insert of a program
    /// that has indexes, which is no entity for readers.
    pub fn reads_removed(&self) -> bool {
        let id = || self.schema.own_id();
        self.schema.has_indexes() || self.tables.leases().has_indexes(&id())
    }

    /// Returns a write of the same entity with another id.
    pub fn with_new_id(&self) -> Result<Self> {
        Ok(Self { takes_over: self.takes_over, ..Self::new(self.tables.clone(), self.schema)? })
    }

    /// Begins an operation of a user on the entity; `None` if nobody observes it.
    pub fn begin(&self, verb: &'static str) -> Option<Box<Running>> {
        self.tables.begin_operation(|| self.schema.operation(verb))
    }

    pub fn backend(&self) -> &Client {
        self.tables.backend()
    }

    /// Returns the table of the row with these keys; of a sliced entity, the slice.
    pub fn table_of(&self, keys: &RowKeys) -> Result<Cow<'static, str>> {
        self.schema.layouts[0].table_of(&keys.partition_key, &keys.row_key)
    }

    /// Returns the identity of the entity's row.
    pub fn row_id(&self, keys: &RowKeys) -> RowId {
        RowId::of(&self.table_of(keys).unwrap_or_else(|_| self.schema.table().into()), keys)
    }

    /// Returns the indexes whose rows are written in the entity's transaction.
    pub fn in_transaction(&self) -> impl Iterator<Item = usize> + use<> {
        self.schema.in_transaction(self.reach)
    }

    /// Returns the indexes whose rows are written in steps of their own before the entity is committed.
    pub fn before_commit(&self) -> impl Iterator<Item = usize> + use<> {
        let in_steps = self.reach == Reach::Partition;
        self.schema.before_commit().filter(move |_| in_steps)
    }

    /// Returns the indexes whose rows are written after the entity is committed.
    pub fn propagated(&self) -> impl Iterator<Item = usize> + use<> {
        let in_steps = self.reach == Reach::Partition;
        self.schema.propagated().filter(move |_| in_steps)
    }

    /// Checks whether the rows of an index have the write id: claims in another partition do.
    pub fn marks(&self, layout: usize) -> bool {
        self.schema.is_unique(layout) && !self.schema.layouts[layout].is_same_partition()
    }

    /// Returns the action that writes a row of an index: over the row of this version, or where no row is known.
    pub fn put_row(&self, row: &EncodedRow, over: Option<&ETag>) -> Action {
        let properties = self.index_properties(row);
        match over {
            Some(etag) => Action::Replace(properties, IfMatch::ETag(etag.clone())),
            // A unique value is never taken from its owner unseen. A second write of any other row does no harm.
            None if self.schema.is_unique(row.layout) => Action::Insert(properties),
            None => Action::Upsert(properties),
        }
    }

    /// Returns the properties of an index row.
    pub fn index_properties(&self, row: &EncodedRow) -> Properties {
        if !self.marks(row.layout) {
            return row.properties.clone();
        }
        let mut properties = row.properties.clone_with_room(32);
        properties.push(WRITE_ID, ValueRef::Guid(self.id));
        properties
    }

    /// Returns the entity's properties, with the write id if the entity has a `WriteId`.
    pub fn properties(&self, encoded: &Encoded) -> Properties {
        self.with_id(encoded.primary.properties.clone())
    }

    /// Returns the entity's properties for a write over a stored row, with the row's properties that the struct does not
    /// know.
    pub fn properties_over(&self, unknown: Option<&Properties>, encoded: &Encoded) -> Properties {
        let mut properties = encoded.primary.properties.clone();
        for (name, value) in unknown.into_iter().flat_map(Properties::iter) {
            properties.push(name, value);
        }
        self.with_id(properties)
    }

    /// Adds the write id if the entity has a `WriteId`.
    pub fn with_id(&self, mut properties: Properties) -> Properties {
        if self.schema.write_id {
            properties.push(WRITE_ID, ValueRef::Guid(self.id));
        }
        properties
    }

    pub async fn get(&self, table: &str, keys: &RowKeys) -> Result<Option<Row>> {
        self.backend().get(table, &keys.partition_key, &keys.row_key, None).await
    }

    /// Reads the row at an entity's keys after a lost answer.
    pub async fn row_now(&self, keys: &RowKeys) -> RowNow {
        match self.get(&self.row_id(keys).table, keys).await {
            Ok(Some(row)) => RowNow::Present(Box::new(row)),
            Ok(None) => RowNow::Absent,
            Err(error) => RowNow::Unread(error.to_string()),
        }
    }

    /// Reads the row at an entity's keys.
    pub async fn occupant(&self, keys: &RowKeys) -> Result<Occupant> {
        let row = match self.get(&self.table_of(keys)?, keys).await {
            // The slice does not exist, or is being deleted: it has no such row.
            Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if self.schema.layouts[0].slice.is_some() => {
                None
            }
            row => row?,
        };
        let Some(row) = row else { return Ok(Occupant::None) };
        let is_pending = pending(&row).is_some();
        Ok(match self.schema.read(row)? {
            Some(found) => Occupant::Entity(Box::new(found)),
            // Readers see no pending insert, and an insert makes way.
            None if is_pending => Occupant::None,
            None => Occupant::OtherKind,
        })
    }

    /// Reads the entity with these keys, committed or pending.
    pub async fn entity(&self, keys: &RowKeys) -> Result<Option<FoundEntity>> {
        match self.occupant(keys).await? {
            Occupant::Entity(found) => Ok(Some(*found)),
            Occupant::None | Occupant::OtherKind => Ok(None),
        }
    }

    /// Reads the committed entity with these keys.
    pub async fn committed(&self, keys: &RowKeys) -> Result<Option<FoundEntity>> {
        Ok(self.entity(keys).await?.filter(|found| found.pending.is_none()))
    }

    /// Makes way for an insert that found a row: deletes the row if it is a pending insert, unless its writer goes on when
    /// it is given time. A program that does not know an index meets pending inserts of programs that do.
    ///
    /// Returns the committed entity if there is one, the pending insert if it is that of the attempt `own`, and otherwise
    /// that there is none: the insert may be tried again.
    pub async fn make_way(&self, keys: &RowKeys, own: Option<Guid>) -> Result<EntityState> {
        let asked = Instant::now();
        let existing = self.exists(keys).await?;
        self.make_way_of(existing, asked, keys, own).await
    }

    /// Makes way for an insert that found this, since the moment at which it asked for it.
    pub async fn make_way_of(
        &self,
        existing: EntityState,
        asked: Instant,
        keys: &RowKeys,
        own: Option<Guid>,
    ) -> Result<EntityState> {
        let EntityState::Pending(attempt, _) = &existing else { return Ok(existing) };
        if own == Some(*attempt) {
            return Ok(existing);
        }
        pacing::give_time(self.backend(), asked).await;
        match self.exists(keys).await? {
            // A patch may have given it another version.
            EntityState::Pending(now, etag) if now == *attempt => {
                self.delete_row(self.table_of(keys)?, keys, &etag).await?;
                Ok(EntityState::None)
            }
            EntityState::Pending(now, _) if own != Some(now) => Ok(EntityState::None),
            existing => Ok(existing),
        }
    }

    /// Returns the version of the committed entity.
    pub async fn committed_version(&self, keys: &RowKeys) -> Result<Option<ETag>> {
        let (table, RowKeys { partition_key, row_key }) = (self.schema.table(), keys);
        let select: &[_] = if self.schema.kind().is_some() { &[PENDING, KIND] } else { &[PENDING] };
        let row = self.backend().get(table, partition_key, row_key, Some(select)).await?;
        let is_own =
            |row: &Row| self.schema.kind().is_none_or(|kind| is_kind(table, row.as_ref(), kind).unwrap_or(true));
        Ok(row.filter(|row| pending(row).is_none() && is_own(row)).map(|row| row.etag))
    }

    /// Looks which of these rows of one partition exist. Costs one request if few other rows are located between them,
    /// and one more for each row that its page does not show.
    pub async fn existing(&self, keys: &[&RowKeys]) -> Result<Vec<EntityState>> {
        let first = match keys {
            [] => return Ok(Vec::new()),
            [keys] => return Ok(vec![self.exists(keys).await?]),
            [first, ..] => first,
        };
        let row_keys: Vec<_> = keys.iter().map(|keys| &*keys.row_key).collect();
        let (table, select) = (self.table_of(first)?, Some(self.deciding_properties()));
        let shown = match several(self.backend(), table, &first.partition_key, &row_keys, select, limits::PAGE).await {
            Err(Error::TableNotFound(_)) if self.schema.layouts[0].slice.is_some() => {
                return Ok(keys.iter().map(|_| EntityState::None).collect());
            }
            shown => shown?,
        };
        let mut reads: Vec<BoxFuture<'_, Result<EntityState>>> = Vec::with_capacity(keys.len());
        for (keys, shown) in keys.iter().zip(shown) {
            reads.push(Box::pin(async move {
                match shown {
                    Shown::Row(row) => Ok(self.state_of(row)),
                    Shown::Missing => Ok(EntityState::None),
                    Shown::Not => self.exists(keys).await,
                }
            }));
        }
        pacing::concurrently(reads).await
    }

    /// Looks whether a row exists.
    pub async fn exists(&self, keys: &RowKeys) -> Result<EntityState> {
        let table = self.table_of(keys)?;
        let select = self.deciding_properties();
        match self.backend().get(&table, &keys.partition_key, &keys.row_key, Some(&select)).await {
            Err(Error::TableNotFound(_)) if self.schema.layouts[0].slice.is_some() => Ok(EntityState::None),
            row => Ok(row?.map_or(EntityState::None, |row| self.state_of(row))),
        }
    }

    /// Returns the properties that show the state of an entity.
    fn deciding_properties(&self) -> Cow<'static, [&'static str]> {
        match self.schema.lifecycle {
            Lifecycle::NONE => Cow::Borrowed(&[PENDING]),
            lifecycle => [PENDING].into_iter().chain(lifecycle.properties()).collect(),
        }
    }

    /// Returns the state of the entity in a row.
    fn state_of(&self, row: Row) -> EntityState {
        if let Some(id) = pending(&row) {
            return EntityState::Pending(id, row.etag);
        }
        let lifecycle = self.schema.lifecycle;
        let standing = match lifecycle {
            Lifecycle::NONE => Ok(Standing::Visible),
            _ => Standing::of(lifecycle, self.schema.table(), row.as_ref(), self.backend().earliest()),
        };
        // A row of another kind may have another property of the name.
        EntityState::Committed(standing.unwrap_or(Standing::Visible))
    }

    /// Checks whether a committed entity has this row in the index.
    pub async fn is_taken(&self, layout: usize, at: &RowKeys, owner: &RowKeys) -> Result<bool> {
        Ok(self.owner_of(layout, at, owner).await?.is_some())
    }

    /// Reads the owner of a row of the index; `None` if it is no committed entity that has the row.
    pub async fn owner_of(&self, layout: usize, at: &RowKeys, owner: &RowKeys) -> Result<Option<FoundEntity>> {
        Ok(self.committed(owner).await?.filter(|found| found.encoded.has(layout, at)))
    }

    /// Checks whether the index is known to be ready. The row of an entity that was loaded is then its own. While an
    /// index is built, an entity may have no row, and the row of its value may belong to another entity.
    pub async fn is_ready(&self, layout: usize) -> Result<bool> {
        self.tables.has_ready_index(&self.schema.id(&self.schema.layouts[layout])).await
    }

    /// Sends a request that writes rows.
    ///
    /// # Errors
    /// Nothing was written, and a repetition would not help.
    pub async fn send(&self, group: &Group) -> Result<WriteAnswer> {
        WriteAnswer::of(self.backend().execute(group).await)
    }

    /// Fences an entity: gives it a new version and changes nothing else. A writer that read it before cannot commit.
    pub async fn fence(&self, found: &FoundEntity) -> Result<WriteAnswer> {
        self.send(&single(self.schema.table(), &found.encoded.primary.keys, fence(&found.row.etag))?).await
    }

    /// Deletes a row if it still has this version.
    pub async fn delete_row(&self, table: Cow<'static, str>, keys: &RowKeys, etag: &ETag) -> Result<WriteAnswer> {
        self.send(&single(table, keys, Action::Delete(IfMatch::ETag(etag.clone())))?).await
    }

    /// Returns a transaction in a partition of the entity's table.
    pub fn transaction(&self, partition_key: &str, operations: Vec<Operation>) -> Result<Group> {
        let (table, partition_key) = (self.schema.table().into(), partition_key.to_owned());
        let group = Group { table, partition_key, operations };
        group.check()?;
        Ok(group)
    }

    /// Waits before the next attempt. Returns `error` if no attempt is left.
    pub async fn pause(&self, delays: &mut pacing::Delays, error: Error) -> Result<()> {
        let waited = pacing::wait(self.backend(), delays, error).await;
        self.gave_up.fetch_or(waited.is_err(), Ordering::Relaxed);
        waited
    }

    /// Checks whether a step has ended because no attempt was left.
    pub fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Returns the error of `entity`, which wants the row at `at` that belongs to `owner`.
    pub fn violation(
        &self,
        layout: usize,
        at: &RowKeys,
        entity: &RowKeys,
        (owner, standing): (&RowKeys, Standing),
    ) -> Error {
        let (info, value) = (&self.schema.layouts[layout], self.schema.value(layout, at));
        let row = RowId::of(&info.table, at);
        let [entity, owner] = [entity, owner].map(|keys| self.row_id(keys));
        let mut error = UniqueViolationError::new(&info.name, value, row, entity, owner);
        error.in_bin = standing == Standing::InBin;
        Box::new(error).into()
    }

    /// Returns the error of an entity that was not written, because the answers about its index rows were lost.
    pub fn no_answer(&self, lost: OutcomeUnknownError) -> Error {
        let OutcomeUnknownError { reason, request, .. } = lost;
        let (table, operation, request) =
            (self.schema.table().to_owned(), "write of an index row", request.map(Box::new));
        Error::NoAnswer { table, operation, reason, request }
    }

    /// Returns the error of a write whose answer has no ETag.
    pub fn no_etag(&self, operation: &'static str, keys: &RowKeys) -> Error {
        Box::new(OutcomeUnknownError::new(operation, self.row_id(keys), "the answer has no ETag")).into()
    }
}

/// Returns the action that gives a row of this version a new version, and changes nothing else.
pub fn fence(etag: &ETag) -> Action {
    Action::Merge(Properties::default(), IfMatch::ETag(etag.clone()))
}

/// Returns a group of one operation.
pub fn single(table: impl Into<Cow<'static, str>>, keys: &RowKeys, action: Action) -> Result<Group> {
    let operations = vec![Operation { row_key: keys.row_key.clone(), action }];
    let group = Group { table: table.into(), partition_key: keys.partition_key.clone(), operations };
    group.check()?;
    Ok(group)
}
