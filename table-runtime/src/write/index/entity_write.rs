//! A write of one entity as a value: what it must read, and the operations that follow from it.
//!
//! Every verb is such a value. The verbs differ in what is known when the write begins: the rows that the entity has
//! afterwards, those that it had when it was loaded, and the version that it must have.
//!
//! To add a verb: add it to [`Verb`], say in `needs` what it must read and in `plan` which operation follows, and make an entrance in
//! `write/verbs.rs`. Add a column to the table of answers in `docs/index-protocol.md`, and the verb to the explorer, to
//! `tests/src/programs.rs` and to the differential run: most defects were sequences of calls.

use table_model::unstable::{
    codec::is_unreadable,
    entity::{self, Carried, LoadedRows, Unknown, WriteEntity},
    layout::LayoutExt,
    lifecycle::Standing,
};
use table_store::{
    ETag, Error, Properties, Result, RowId,
    backend::{Action, IfMatch},
    error::{KeyChangedError, Refused},
    unstable::RowKeys,
};

use super::{
    change::{Change, Planned},
    event_row::RowBefore,
    schema::{Encoded, EncodedRow, FoundEntity},
    write::{EntityState, Occupant, Write},
};
use crate::client::stored::{LoadedEntity, StoredState};

/// The verbs that write one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Insert,
    Update,
    Upsert,
    Merge,
    Patch,
    Delete,
    Remove,
    /// The deletion of an entity that has expired.
    Expire,
    /// The write of an entity's rows in one index, by a job.
    Reindex(usize),
}

impl Verb {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Upsert => "upsert",
            Self::Merge => "merge",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Remove => "remove",
            Self::Expire => "expire",
            Self::Reindex(_) => "reindex",
        }
    }

    /// Checks whether the verb writes a row only if there is none.
    pub const fn inserts(self) -> bool {
        matches!(self, Self::Insert)
    }

    /// Checks whether the verb finds no entity if the time of the one that was read has passed.
    const fn judges_time(self) -> bool {
        // A patch reads only if it records an event.
        matches!(self, Self::Update | Self::Delete | Self::Patch)
    }

    /// Checks whether the verb has nothing to do without an entity, so that a missing one is no failure for some callers.
    pub const fn needs_entity(self) -> bool {
        matches!(self, Self::Delete | Self::Remove | Self::Expire | Self::Reindex(_))
    }

    /// Checks whether the verb changes nothing of the entity but its version.
    pub const fn fences(self) -> bool {
        matches!(self, Self::Reindex(_))
    }

    /// Returns the index rows that the verb writes, of all those that the entity has afterwards.
    fn written(self, rows: &Encoded) -> &[EncodedRow] {
        if let Self::Reindex(layout) = self { rows.rows_in(layout) } else { &rows.index_rows }
    }
}

/// A write of one entity.
pub struct EntityWrite {
    pub verb: Verb,
    entity: Entity,
    /// The entity as it was loaded; `None` if only the table knows it.
    old: Option<Box<LoadedEntity>>,
    /// The version that the row must have; `None` if any will do, or if the version is read.
    expected: Option<ETag>,
    /// True if an insert has found a row, and reads it: it takes the place of an entity that has expired. True if a reindex
    /// reads first which rows of elements there are.
    looks: bool,
    /// The entity's row, for the event of the deletion of an entity that was read.
    row: Option<Box<RowBefore>>,
}

/// The entity of a write.
enum Entity {
    /// The rows that the entity has afterwards.
    Rows(Encoded),
    /// The keys of an entity of which the verb writes no rows.
    Keys(RowKeys),
    /// The keys, and the properties that a patch sets.
    Patched(RowKeys, Properties),
}

/// The entity that was read for a write, and the condition that it is still stored.
pub struct Before {
    loaded: LoadedEntity,
    /// The rows of the entity, for a reindex that has lost a race.
    present: Option<Encoded>,
    condition: IfMatch,
    /// True if the entity has expired, so that no reader misses it when it is removed first.
    pub(super) has_expired: bool,
    /// The row of a committed entity whose write records events.
    pub(super) row: Option<Box<RowBefore>>,
}

impl Before {
    const fn new(loaded: LoadedEntity, condition: IfMatch) -> Self {
        Self { loaded, present: None, condition, has_expired: false, row: None }
    }
}

/// What a write must read of its entity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// The entity in the version that the write requires.
    Version,
    /// The entity in whatever version.
    Present,
}

impl EntityWrite {
    const fn new(verb: Verb, entity: Entity) -> Self {
        Self { verb, entity, old: None, expected: None, looks: false, row: None }
    }

    /// Returns the keys of the entity's own row.
    pub const fn keys(&self) -> &RowKeys {
        match &self.entity {
            Entity::Rows(Encoded { primary, .. }) => &primary.keys,
            Entity::Keys(keys) | Entity::Patched(keys, _) => keys,
        }
    }

    /// Returns the rows that the entity has afterwards; `None` if the verb writes none.
    pub const fn new_rows(&self) -> Option<&Encoded> {
        match &self.entity {
            Entity::Rows(rows) => Some(rows),
            Entity::Keys(_) | Entity::Patched(..) => None,
        }
    }

    /// Returns the index rows that the write writes.
    pub fn written_rows(&self) -> &[EncodedRow] {
        self.new_rows().map_or(&[], |rows| self.verb.written(rows))
    }

    /// Returns the write of a whole entity: an insert, an upsert or a merge.
    pub fn put(verb: Verb, entity: &dyn WriteEntity) -> Result<Self> {
        Ok(Self::put_encoded(verb, Encoded::of(entity)?))
    }

    pub const fn put_encoded(verb: Verb, new: Encoded) -> Self {
        Self::new(verb, Entity::Rows(new))
    }

    /// Returns the update of a changed entity.
    ///
    /// # Errors
    /// The entity was loaded with another key.
    pub fn update(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        check_key(entity, state)?;
        let (old, expected) = (state.loaded(entity)?.map(Box::new), Some(state.etag().clone()));
        Ok(Self { old, expected, ..Self::put(Verb::Update, entity)? })
    }

    /// Bases the update on the entity as it is stored. The caller has loaded its entity from a row that is not stored yet.
    pub fn over(mut self, stored: &LoadedEntity) -> Self {
        if let Some(old) = &mut self.old {
            old.rows.clone_from(&stored.rows);
            old.until = stored.until;
        }
        self
    }

    /// Returns the entity as it was loaded; `None` if only the table knows it.
    pub fn loaded(&self) -> Option<&LoadedEntity> {
        self.old.as_deref()
    }

    /// Returns the change of some properties, of the row in this version if there is one.
    pub fn patch(keys: RowKeys, set: Properties, expected: Option<ETag>) -> Self {
        Self { expected, ..Self::new(Verb::Patch, Entity::Patched(keys, set)) }
    }

    /// Returns the deletion of an entity in the version that was read.
    pub fn delete(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        let (old, expected) = (state.loaded_for_deletion(entity)?.map(Box::new), Some(state.etag().clone()));
        Ok(Self { old, expected, ..Self::new(Verb::Delete, Entity::Keys(state.loaded_key(entity)?)) })
    }

    /// Returns the deletion of an entity that has expired, in the version that was read.
    pub fn expire(found: FoundEntity) -> Self {
        let (keys, expected) = (found.encoded.primary.keys.clone(), Some(found.row.etag.clone()));
        let (row, old) = (RowBefore::of(&found).map(Box::new), Some(Box::new(found.into_loaded())));
        Self { old, expected, row, ..Self::new(Verb::Expire, Entity::Keys(keys)) }
    }

    /// Returns the same for the entity that was read in the place of another one.
    pub fn expire_before(keys: RowKeys, Before { loaded, condition, row, .. }: Before) -> Self {
        let expected = if let IfMatch::ETag(etag) = condition { Some(etag) } else { None };
        Self { old: Some(Box::new(loaded)), expected, row, ..Self::new(Verb::Expire, Entity::Keys(keys)) }
    }

    /// Returns the write of the rows in one index of an entity that was read.
    ///
    /// For this index the entity is a new one. The action on the entity is a fence: an empty merge under the version that was
    /// read, so that the rows are those of the entity.
    pub fn reindex(layout: usize, found: FoundEntity) -> Self {
        let expected = Some(found.row.etag);
        Self { expected, ..Self::new(Verb::Reindex(layout), Entity::Rows(found.encoded)) }
    }

    /// Returns the removal of an entity in any version.
    pub const fn remove(keys: RowKeys) -> Self {
        Self::new(Verb::Remove, Entity::Keys(keys))
    }

    /// Returns the removal of an entity that was read, in any version. The version that was read is tried first.
    pub fn remove_read(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        // Only index rows depend on the stored entity. A write that records an event reads it anyway.
        let info = entity.info();
        let is_used = info.layouts.len() > 1 && info.events.is_none();
        let old = if is_used { state.loaded(entity)?.map(Box::new) } else { None };
        let expected = old.as_ref().map(|_| state.etag().clone());
        Ok(Self { old, expected, ..Self::new(Verb::Remove, Entity::Keys(state.loaded_key(entity)?)) })
    }
}

/// Checks that an entity has the primary key with which it was loaded.
fn check_key(entity: &dyn WriteEntity, state: &StoredState) -> Result<()> {
    let (was, RowKeys { partition_key, row_key }) = (state.loaded_key(entity)?, entity::keys(entity)?);
    if was.partition_key == partition_key && was.row_key == row_key {
        return Ok(());
    }
    let table = entity.info().layouts[0].table_of(&was.partition_key, &was.row_key)?;
    Err(Box::new(KeyChangedError::new(RowId::of(&table, &was), partition_key, row_key)).into())
}

/// An entity write with its write id.
pub struct BegunWrite {
    pub write: Write,
    pub entity: EntityWrite,
}

impl EntityWrite {
    /// Begins the write. For a reindex, an entity that has expired is one like any other.
    pub fn begin(self, mut write: Write) -> BegunWrite {
        write.takes_over = !self.verb.fences();
        BegunWrite { write, entity: self }
    }

    /// Returns the rows of the entity as it was loaded; `None` if only the table knows them.
    pub fn old_rows(&self) -> Option<&LoadedRows> {
        self.old.as_ref().map(|old| &old.rows)
    }

    /// Returns the entity's row as it was read before the write began.
    pub fn row_before(&self) -> Option<&RowBefore> {
        self.row.as_deref()
    }

    /// Lets an insert take the place of the row in its way, if it has expired. Lets a reindex read which rows of elements
    /// there are.
    pub const fn look(&mut self) {
        self.looks = true;
    }

    /// Checks whether an insert looks at the row in its way.
    pub const fn looks(&self) -> bool {
        self.looks
    }

    /// Returns the version that the row must have, if the caller has read it.
    pub const fn version(&self) -> Option<&ETag> {
        self.expected.as_ref()
    }

    /// Notes that a fence of this write gave the row another version.
    pub fn set_version(&mut self, version: ETag) {
        self.expected = self.expected.as_ref().map(|_| version);
    }
}

impl BegunWrite {
    pub fn row_id(&self) -> Result<RowId> {
        let keys = self.entity.keys();
        Ok(RowId::of(&self.write.table_of(keys)?, keys))
    }

    fn needs(&self) -> Needs {
        let records = self.write.records();
        match self.entity.verb {
            Verb::Update | Verb::Delete if records || self.entity.old.is_none() => Needs::Version,
            Verb::Patch if records => Needs::Version,
            Verb::Merge => Needs::Present,
            Verb::Insert if self.entity.looks => Needs::Present,
            Verb::Upsert if records || self.write.schema.has_indexes() => Needs::Present,
            Verb::Remove if records || self.entity.old.is_none() && self.write.reads_removed() => Needs::Present,
            Verb::Reindex(_) if self.entity.expected.is_none() => Needs::Present,
            _ => Needs::Nothing,
        }
    }

    /// Checks whether the stored entity has to be read.
    pub(super) fn reads(&self) -> bool {
        self.needs() != Needs::Nothing
    }

    /// Reads the stored entity, if the write depends on it.
    ///
    /// # Errors
    /// Returns an error if the row belongs to an entity of another kind, if there is no entity to remove, or if the
    /// entity does not have the version that the write requires.
    pub(super) async fn read(&self) -> Result<Option<Before>> {
        let (verb, keys) = (&self.entity.verb, self.entity.keys());
        let needs = self.needs();
        if needs == Needs::Nothing {
            return Ok(None);
        }
        let occupant = match self.write.occupant(keys).await {
            // A row that cannot be read has not expired.
            Err(error) if *verb == Verb::Insert && is_unreadable(&error) => Occupant::OtherKind,
            occupant => occupant?,
        };
        let row = match &occupant {
            Occupant::Entity(found) if self.write.records() => RowBefore::of(found).map(Box::new),
            _ => None,
        };
        Ok(self.found(occupant, needs).await?.map(|before| Before { row, ..before }))
    }

    /// Returns what the write goes on from, after it has found this at its keys.
    async fn found(&self, occupant: Occupant, needs: Needs) -> Result<Option<Before>> {
        let (EntityWrite { verb, expected, .. }, keys) = (&self.entity, self.entity.keys());
        let must_exist = needs == Needs::Version || verb.needs_entity();
        let row = || Ok::<_, Error>(self.row_id()?.into());
        match occupant {
            Occupant::Entity(found) if *verb == Verb::Insert => self.before_insert(*found).await,
            Occupant::Entity(found) if verb.fences() && found.pending.is_none() => {
                let condition = IfMatch::ETag(found.row.etag);
                let before = Before::new(LoadedEntity::default(), condition);
                Ok(Some(Before { present: Some(found.encoded), ..before }))
            }
            Occupant::Entity(found) if must_exist && verb.judges_time() && self.has_expired(&found)? => {
                Err(Error::NotFound(row()?))
            }
            Occupant::Entity(found) if !must_exist || found.pending.is_none() => {
                if expected.as_ref().is_some_and(|expected| found.row.etag != *expected) {
                    return Err(Error::ConditionNotMet(row()?));
                }
                let has_expired = self.has_expired(&found)?;
                let mut before = self.before(*found);
                if let (true, Some(before)) = (has_expired, &mut before) {
                    before.has_expired = true;
                    // A merge keeps nothing of an entity that is absent for readers.
                    before.loaded.unknown = None;
                }
                Ok(before)
            }
            _ if must_exist => Err(Error::NotFound(row()?)),
            // Another kind, or a newer version of this one, may have crashed in an insert.
            Occupant::OtherKind if *verb == Verb::Insert => {
                let has_way = matches!(self.write.make_way(keys, None).await?, EntityState::None);
                if has_way { Ok(None) } else { Err(Error::AlreadyExists(row()?)) }
            }
            Occupant::OtherKind => Err(Error::AlreadyExists(row()?)),
            _ => Ok(None),
        }
    }

    /// Returns what an insert goes on from, after it has found a row in its way.
    ///
    /// # Errors
    /// The row is that of an entity that has not expired.
    async fn before_insert(&self, found: FoundEntity) -> Result<Option<Before>> {
        let BegunWrite { write, entity } = self;
        if found.pending.is_some() {
            if write.before_commit().next().is_some() {
                // If it was committed meanwhile, the insert finds the entity in its way.
                write.make_way(entity.keys(), None).await?;
                return Ok(None);
            }
            return Ok(self.before(found));
        }
        match found.standing(&write.schema, write.backend().earliest())? {
            Standing::Expired => Ok(self.before(found).map(|before| Before { has_expired: true, ..before })),
            standing => Err(Error::AlreadyExists(Refused::from(self.row_id()?).in_bin(standing == Standing::InBin))),
        }
    }

    /// Checks that the entity had not expired for the caller who has read it.
    ///
    /// # Errors
    /// For readers there is no such entity any more.
    pub(super) fn check_present(&self) -> Result<()> {
        let Some(old) = &self.entity.old else { return Ok(()) };
        let judges = old.until.is_some() && self.entity.verb.judges_time();
        if judges && old.has_expired(self.write.backend().earliest()) {
            return Err(Error::NotFound(self.row_id()?.into()));
        }
        Ok(())
    }

    fn has_expired(&self, found: &FoundEntity) -> Result<bool> {
        let schema = &self.write.schema;
        if schema.lifecycle.expires.is_none() || found.pending.is_some() {
            return Ok(false);
        }
        Ok(found.standing(schema, self.write.backend().earliest())? == Standing::Expired)
    }

    /// Returns what a write goes on from; `None` if it inserts the entity.
    fn before(&self, found: FoundEntity) -> Option<Before> {
        let condition = IfMatch::ETag(found.row.etag.clone());
        if found.pending.is_some() {
            // A pending insert has neither index rows in its partition, nor properties to keep. If the entity takes
            // steps, its insert removes the pending one.
            let replaces = self.write.before_commit().next().is_none();
            return replaces.then(|| Before::new(LoadedEntity::default(), condition));
        }
        if self.entity.verb == Verb::Patch {
            // It changes no row of an index.
            return Some(Before::new(LoadedEntity::default(), condition));
        }
        let mut loaded = found.into_loaded();
        if self.entity.new_rows().is_some() && self.entity.verb != Verb::Update {
            // Included properties that a crash left behind are written again, whatever the entity says.
            let propagated: Vec<_> = self.write.schema.propagated().collect();
            for row in loaded.rows.iter_mut().filter(|row| propagated.contains(&row.layout)) {
                row.included = None;
            }
        }
        if matches!(self.entity.verb, Verb::Upsert | Verb::Insert) {
            loaded.unknown = None;
        }
        Some(Before::new(loaded, condition))
    }

    /// Returns the result of [`read`](Self::read) for the case that exactly this entity is already stored.
    pub(super) fn if_unchanged(&self) -> Option<Before> {
        let rows = self.entity.new_rows().filter(|_| self.reads())?.clone().into_loaded();
        let loaded = LoadedEntity { rows, unknown: None, until: None };
        Some(Before::new(loaded, IfMatch::Any))
    }

    /// Returns the operation on the entity's row, and the change of the entity's rows.
    /// `carried` are the properties that it writes back.
    pub(super) fn plan<'p>(&'p self, before: Option<&'p Before>, carried: Option<&Carried>) -> Planned<'p> {
        let EntityWrite { verb, entity, old, expected, .. } = &self.entity;
        let (write, keys) = (&self.write, self.entity.keys());
        let new = before.and_then(|before| before.present.as_ref()).or(self.entity.new_rows());
        let loaded = old.as_deref().or(before.map(|before| &before.loaded));
        let condition = match (expected, before) {
            (Some(etag), _) => Some(IfMatch::ETag(etag.clone())),
            (None, before) => before.map(|before| before.condition.clone()),
        };
        let action = match (entity, condition) {
            (_, condition) if verb.fences() => Action::Merge(Properties::default(), condition.unwrap_or(IfMatch::Any)),
            (Entity::Keys(_), condition) => Action::Delete(condition.unwrap_or(IfMatch::Any)),
            (Entity::Patched(_, set), condition) => {
                Action::Merge(write.with_id(set.clone()), condition.unwrap_or(IfMatch::Any))
            }
            (Entity::Rows(new), Some(condition)) => {
                Action::Replace(write.properties_over(carried.map(Carried::properties), new), condition)
            }
            (Entity::Rows(new), None) if *verb == Verb::Upsert && !write.schema.has_indexes() && !write.records() => {
                Action::Upsert(write.properties(new))
            }
            (Entity::Rows(new), None) => Action::Insert(write.properties(new)),
        };
        let is_checked = new.is_some_and(|new| new.is_checked);
        let is_checked = (is_checked && carried.is_none() && !write.schema.write_id, is_checked);
        let old = loaded.map_or([].as_slice(), |loaded| &loaded.rows);
        let change = Change { old, new: new.map_or(&[], |new| verb.written(new)) };
        let (defers, fences) = (self.defers(), verb.fences());
        let looks = fences && self.entity.looks;
        Planned { write, change, keys, action, is_checked, defers, fences, looks, events: None }
    }

    /// Returns the properties that the write leaves in the row, although they are not the entity's.
    pub(super) async fn carried(&self, before: Option<&Before>) -> Result<Unknown> {
        let loaded = self.entity.old.as_deref().or(before.map(|before| &before.loaded));
        let Some(carried) = loaded.and_then(|loaded| loaded.unknown.as_deref()) else { return Ok(None) };
        let (info, tables) = (&self.write.schema, &self.write.tables);
        let new = self.entity.new_rows().map(|new| new.primary.properties.as_ref());
        let changed = new.map(|new| carried.changed(info, new)).unwrap_or_default();
        let Some(new) = new.filter(|_| !changed.is_empty()) else { return Ok(Some(carried.clone().into())) };
        // What other programs have recorded is not older than a lease.
        tables.write_lease(&info.own_id()).await?;
        let recorded = tables.leases().wholes(&info.own_id());
        let recorded = recorded.get(&info.version).into_iter().flat_map(|wholes| wholes.values());
        Ok(carried.without(&changed, recorded, info, new))
    }

    /// Checks whether an insert leaves the decision about a row in its way to the next attempt.
    fn defers(&self) -> bool {
        self.entity.verb == Verb::Insert && !self.write.schema.lifecycle.is_none()
    }

    /// Checks whether the write lost a race that it can begin anew: it depends on a row that it reads itself, or would
    /// read in the next attempt, and another writer has changed that row. For a reindex, a lost answer is the same.
    pub(super) fn lost_race(&self, error: &Error) -> bool {
        let (EntityWrite { verb, .. }, keys) = (&self.entity, self.entity.keys());
        let row = match error {
            Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row) | Error::Aborted(row) => row,
            // A repetition changes nothing of the entity.
            Error::OutcomeUnknown(_) => return verb.fences(),
            _ => return false,
        };
        let begins_anew = match verb {
            Verb::Upsert | Verb::Merge => true,
            // A look at the rows that are in the way says more: the one of the key may have expired, and whoever aborted the
            // insert has the key or the value. Only after that does the insert depend on a version.
            Verb::Insert => match error {
                Error::Aborted(_) => true,
                Error::AlreadyExists(_) => self.defers(),
                _ => self.defers() && self.entity.looks,
            },
            Verb::Remove | Verb::Reindex(_) => !matches!(error, Error::NotFound(_)),
            // The version is the one that the write has read itself.
            Verb::Patch => self.write.records() && self.entity.expected.is_none(),
            _ => false,
        };
        begins_anew && keys.row_key == row.row_key
    }

    /// Checks whether the write goes on with what it has learned, without a delay: an insert looks at the row in its way.
    pub fn goes_on(&self) -> bool {
        self.entity.verb == Verb::Insert && !self.entity.looks
    }

    /// Begins the write anew after a lost race: with a new id, and from what is stored then.
    pub fn begin_anew(&mut self) -> Result<()> {
        self.renew()?;
        match self.entity.verb {
            Verb::Remove | Verb::Reindex(_) => (self.entity.old, self.entity.expected) = (None, None),
            Verb::Insert => self.entity.looks = true,
            _ => {}
        }
        Ok(())
    }

    /// Lets an insert look at the row in its way, if there is one, before it is written.
    pub fn look(&mut self) {
        if self.defers() {
            self.entity.look();
        }
    }

    /// Gives the write a new id.
    pub fn renew(&mut self) -> Result<()> {
        self.write = self.write.with_new_id()?;
        Ok(())
    }
}
