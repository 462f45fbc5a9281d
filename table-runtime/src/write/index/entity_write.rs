//! A write of one entity as a value: what it must read, and the operations that follow from it.
//!
//! Every verb is such a value. The verbs differ in what is known when the write begins: the rows that the entity has
//! afterwards, those that it had when it was loaded, and the version that it must have.

use table_store::{
    ETag, Error, Properties, Result, RowId,
    backend::{Action, IfMatch},
    error::KeyChangedError,
    unstable::RowKeys,
};

use super::{
    change::{Change, Planned},
    schema::{Encoded, FoundEntity},
    write::{Occupant, Write},
};
use crate::model::entity::{self, Loaded, LoadedRows, StoredState, Unknown, WriteEntity};

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
        }
    }

    /// Checks whether the verb writes a row only if there is none.
    pub const fn inserts(self) -> bool {
        matches!(self, Self::Insert)
    }

    /// Checks whether the verb ends with no entity, so that a missing one is nothing to report for some callers.
    pub const fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::Remove)
    }
}

/// A write of one entity.
pub struct EntityWrite {
    pub verb: Verb,
    pub keys: RowKeys,
    /// The rows that the entity has afterwards; `None` if the verb writes none.
    pub new: Option<Encoded>,
    /// The entity as it was loaded; `None` if only the table knows it.
    old: Option<Loaded>,
    /// The version that the row must have; `None` if any will do, or if the version is read.
    expected: Option<ETag>,
    /// The properties that a patch sets.
    set: Properties,
}

/// The entity that was read for a write, and the condition that it is still stored.
pub struct Before {
    loaded: Loaded,
    condition: IfMatch,
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
    fn new(verb: Verb, keys: RowKeys) -> Self {
        Self { verb, keys, new: None, old: None, expected: None, set: Properties::default() }
    }

    /// Returns the write of a whole entity: an insert, an upsert or a merge.
    pub fn put(verb: Verb, entity: &dyn WriteEntity) -> Result<Self> {
        Ok(Self::put_encoded(verb, Encoded::of(entity)?))
    }

    pub fn put_encoded(verb: Verb, new: Encoded) -> Self {
        let keys = new.primary().keys.clone();
        Self { new: Some(new), ..Self::new(verb, keys) }
    }

    /// Returns the update of a changed entity.
    ///
    /// # Errors
    /// The entity was loaded with another key.
    pub fn update(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        check_key(entity, state)?;
        let (old, expected) = (state.loaded(entity)?, Some(state.etag().clone()));
        Ok(Self { old, expected, ..Self::put(Verb::Update, entity)? })
    }

    /// Returns the change of some properties, of the row in this version if there is one.
    pub fn patch(keys: RowKeys, set: Properties, expected: Option<ETag>) -> Self {
        Self { expected, set, ..Self::new(Verb::Patch, keys) }
    }

    /// Returns the deletion of an entity in the version that was read.
    pub fn delete(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        let (old, expected) = (state.loaded_for_deletion(entity)?, Some(state.etag().clone()));
        Ok(Self { old, expected, ..Self::new(Verb::Delete, state.loaded_key(entity)?) })
    }

    /// Returns the removal of an entity in any version.
    pub fn remove(keys: RowKeys) -> Self {
        Self::new(Verb::Remove, keys)
    }

    /// Returns the removal of an entity that was read, in any version. The version that was read is tried first.
    pub fn remove_read(entity: &dyn WriteEntity, state: &StoredState) -> Result<Self> {
        // Only index rows depend on the stored entity.
        let old = if entity.info().layouts.len() > 1 { state.loaded(entity)? } else { None };
        let expected = old.as_ref().map(|_| state.etag().clone());
        Ok(Self { old, expected, ..Self::new(Verb::Remove, state.loaded_key(entity)?) })
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
    /// Returns the rows of the entity as it was loaded; `None` if only the table knows them.
    pub fn old_rows(&self) -> Option<&LoadedRows> {
        self.old.as_ref().map(|old| &old.rows)
    }

    /// Checks whether the row must have the version that the caller has read.
    pub fn has_version(&self) -> bool {
        self.expected.is_some()
    }
}

impl BegunWrite {
    pub fn row_id(&self) -> Result<RowId> {
        Ok(RowId::of(&self.write.table_of(&self.entity.keys)?, &self.entity.keys))
    }

    fn needs(&self) -> Needs {
        match self.entity.verb {
            Verb::Update | Verb::Delete if self.entity.old.is_none() => Needs::Version,
            Verb::Merge => Needs::Present,
            Verb::Upsert if self.write.schema.has_indexes() => Needs::Present,
            Verb::Remove if self.entity.old.is_none() && self.write.reads_removed() => Needs::Present,
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
        let EntityWrite { verb, keys, expected, .. } = &self.entity;
        let needs = self.needs();
        if needs == Needs::Nothing {
            return Ok(None);
        }
        let must_exist = needs == Needs::Version || verb.deletes();
        let row = || Ok::<_, Error>(self.row_id()?.into());
        match self.write.occupant(keys).await? {
            Occupant::Entity(found) if !must_exist || found.pending.is_none() => {
                if expected.as_ref().is_some_and(|expected| found.row.etag != *expected) {
                    return Err(Error::ConditionNotMet(row()?));
                }
                Ok(self.before(*found))
            }
            _ if must_exist => Err(Error::NotFound(row()?)),
            Occupant::OtherKind => Err(Error::AlreadyExists(row()?)),
            _ => Ok(None),
        }
    }

    /// Returns what a write goes on from; `None` if it inserts the entity.
    fn before(&self, found: FoundEntity) -> Option<Before> {
        let condition = IfMatch::ETag(found.row.etag.clone());
        if found.pending.is_some() {
            // A pending insert has neither index rows in its partition, nor properties to keep. If the entity takes
            // steps, its insert removes the pending one.
            let replaces = self.write.before_commit().next().is_none();
            return replaces.then(|| Before { loaded: Loaded::default(), condition });
        }
        let mut loaded = found.into_loaded();
        if self.entity.new.is_some() && self.entity.verb != Verb::Update {
            // Included properties that a crash left behind are written again, whatever the entity says.
            let propagated: Vec<_> = self.write.schema.propagated().collect();
            for row in loaded.rows.iter_mut().filter(|row| propagated.contains(&row.layout)) {
                row.included = None;
            }
        }
        if self.entity.verb == Verb::Upsert {
            loaded.unknown = None;
        }
        Some(Before { loaded, condition })
    }

    /// Returns the result of [`read`](Self::read) for the case that exactly this entity is already stored.
    pub(super) fn if_unchanged(&self) -> Option<Before> {
        let rows = self.entity.new.clone().filter(|_| self.reads())?.into_loaded();
        Some(Before { loaded: Loaded { rows, unknown: None }, condition: IfMatch::Any })
    }

    /// Returns the operation on the entity's row, and the change of the entity's rows.
    pub(super) fn plan<'p>(&'p self, before: Option<&'p Before>) -> Planned<'p> {
        let EntityWrite { verb, keys, new, old, expected, set } = &self.entity;
        let write = &self.write;
        let loaded = old.as_ref().or(before.map(|before| &before.loaded));
        let condition = match (expected, before) {
            (Some(etag), _) => Some(IfMatch::ETag(etag.clone())),
            (None, before) => before.map(|before| before.condition.clone()),
        };
        let action = match (new, condition) {
            (None, condition) if *verb == Verb::Patch => {
                Action::Merge(write.with_id(set.clone()), condition.unwrap_or(IfMatch::Any))
            }
            (None, condition) => Action::Delete(condition.unwrap_or(IfMatch::Any)),
            (Some(new), Some(condition)) => {
                let unknown = loaded.and_then(|loaded| loaded.unknown.as_deref());
                Action::Replace(write.properties_over(unknown, new), condition)
            }
            (Some(new), None) if *verb == Verb::Upsert && !write.schema.has_indexes() => {
                Action::Upsert(write.properties(new))
            }
            (Some(new), None) => Action::Insert(write.properties(new)),
        };
        let change =
            Change { old: loaded.map_or(&[], |loaded| &loaded.rows), new: new.as_ref().map_or(&[], |new| &new.rows) };
        Planned { write, change, keys, action }
    }

    /// Returns the properties that the write has kept, although the struct does not know them.
    pub(super) fn kept(&self, before: Option<Before>) -> Unknown {
        match &self.entity.old {
            Some(old) => old.unknown.clone(),
            None => before.and_then(|before| before.loaded.unknown),
        }
    }

    /// Checks whether the write lost a race that it can begin anew: it depends on a row that it reads itself, or would
    /// read in the next attempt, and another writer has changed that row.
    pub(super) fn lost_race(&self, error: &Error) -> bool {
        let (Error::ConditionNotMet(row) | Error::AlreadyExists(row) | Error::NotFound(row) | Error::Aborted(row)) =
            error
        else {
            return false;
        };
        let EntityWrite { verb, keys, .. } = &self.entity;
        let begins_anew = match verb {
            Verb::Upsert | Verb::Merge => true,
            Verb::Remove => !matches!(error, Error::NotFound(_)),
            _ => false,
        };
        begins_anew && keys.row_key == row.row_key
    }

    /// Begins the write anew after a lost race: with a new id, and from what is stored then.
    pub fn begin_anew(&mut self) -> Result<()> {
        if self.entity.verb == Verb::Remove {
            (self.entity.old, self.entity.expected) = (None, None);
        }
        self.write = self.write.with_new_id()?;
        Ok(())
    }
}
