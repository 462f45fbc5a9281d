//! The verbs of one entity: insert, update, upsert, merge, delete, remove, patch.
//!
//! An entity without indexes takes the same way with fewer steps: one request, and a read only after a lost answer.

use super::{
    change::{Change, Planned},
    claim::{IndexRows, Precondition},
    commit::{InTheWay, commit, is_same},
    propagate::Propagation,
    schema::{Encoded, FoundEntity},
    write::{MAX_ATTEMPTS, Occupant, Write, WrittenRow, deletion, first, single},
};
use crate::{
    ETag, Error, OutcomeUnknownError, Properties, Result, ValueRef,
    backend::{Action, IfMatch},
    entity::{Loaded, LoadedRows, PENDING, WRITE_ID},
    pacing,
    row::RowKeys,
};

/// The writer of one entity and of its index rows.
pub(crate) struct EntityWriter<'a>(pub(crate) &'a Write);

impl EntityWriter<'_> {
    /// Writes a new entity.
    pub(crate) async fn insert(&self, new: &Encoded) -> Result<ETag> {
        Ok(self.insert_row(new).await?.0)
    }

    /// Writes a new entity. Returns also its properties, if they were read again before the commit: a patch of the
    /// pending entity may have changed them.
    pub(crate) async fn insert_row(&self, new: &Encoded) -> Result<(ETag, Option<Properties>)> {
        let (change, keys) = (Change { old: None, new: Some(new) }, &new.primary().keys);
        let layouts: Vec<_> = self.0.before_commit().filter(|layout| new.row(*layout).is_some()).collect();
        let (etag, read) = if layouts.is_empty() {
            let inserted = self.commit(&change, keys, Action::Insert(self.0.properties(new))).await?;
            (self.versioned("insert", keys, inserted).await?, None)
        } else {
            let pending = self.insert_pending(new).await?;
            let written = match IndexRows(self.0).write(new, &layouts, Precondition::Pending).await {
                Ok(written) => written,
                Err((error, written)) => {
                    self.abort(new, written).await;
                    return Err(error);
                }
            };
            self.commit_pending(&change, new, pending, written).await?
        };
        self.propagate(&change, keys, Some(&etag)).await;
        Ok((etag, read))
    }

    /// Writes the entity with `IndexPending`, so that no reader returns it.
    async fn insert_pending(&self, new: &Encoded) -> Result<ETag> {
        let keys = &new.primary().keys;
        let mut properties = self.0.properties(new);
        properties.push(PENDING, ValueRef::Guid(self.0.id));
        let group = single(self.0.schema.table(), keys, Action::Insert(properties))?;
        let mut lost = 0;
        loop {
            match self.0.backend().execute(&group).await {
                Ok(etags) => return first(etags).ok_or_else(|| self.0.no_etag("insert", keys)),
                Err(Error::AlreadyExists(row)) => match self.0.occupant(keys).await? {
                    // An earlier attempt was applied, and its answer lost.
                    Occupant::Entity(found) if found.pending == Some(self.0.id) => return Ok(found.row.etag),
                    Occupant::Entity(found) if found.pending.is_some() => {
                        self.0.delete_row(self.0.schema.table().into(), keys, &found.row.etag).await?;
                    }
                    Occupant::None => {}
                    Occupant::Entity(_) | Occupant::OtherKind => return Err(Error::AlreadyExists(row)),
                },
                Err(Error::OutcomeUnknown(error)) => {
                    if let Some(found) = self.0.entity(keys).await?
                        && found.pending == Some(self.0.id)
                    {
                        return Ok(found.row.etag);
                    }
                    lost += 1;
                    if lost == MAX_ATTEMPTS {
                        return Err(error.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes `IndexPending`: from then on readers return the entity. Returns the properties that were read, if the
    /// entity had to be read.
    async fn commit_pending(
        &self,
        change: &Change<'_>,
        new: &Encoded,
        pending: ETag,
        written: Vec<WrittenRow>,
    ) -> Result<(ETag, Option<Properties>)> {
        let keys = &new.primary().keys;
        let (mut etag, mut read) = (pending, None);
        let mut unknown = None;
        let mut error = Error::Aborted(Box::new(self.0.row_id(keys)));
        for _ in 0..MAX_ATTEMPTS {
            let properties = read.clone().unwrap_or_else(|| self.0.properties(new));
            let committed = Action::Replace(properties.clone(), IfMatch::ETag(etag.clone()));
            let found = match self.commit(change, keys, committed).await {
                Ok(committed) => return Ok((self.versioned("insert", keys, committed).await?, read)),
                Err(lost @ Error::OutcomeUnknown(_)) => {
                    unknown = Some(lost);
                    self.0.entity(keys).await
                }
                Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => self.0.entity(keys).await,
                Err(error) => Err(error),
            };
            match found {
                Ok(Some(found)) if self.is_committed_by_this(&found) => {
                    // A migration may have passed the entity by while it was pending.
                    let in_place = self.0.tables.write_lease(&self.0.schema.id(&self.0.schema.layouts[0])).await;
                    if let (Err(_), Some(unknown)) = (in_place, unknown) {
                        return Err(unknown);
                    }
                    // A program without the write id may have patched it since.
                    let etag = is_same(&found.row.properties, &properties).then_some(found.row.etag);
                    return Ok((self.versioned("insert", keys, etag).await?, read));
                }
                // Another writer fenced it, or patched it. The patch stays.
                Ok(Some(found)) if found.pending == Some(self.0.id) => {
                    // A request under the earlier version cannot be applied any more.
                    unknown = unknown.filter(|_| found.row.etag == etag);
                    etag = found.row.etag;
                    read = Some(without_pending(&found.row.properties));
                }
                Ok(_) => break,
                Err(other) => {
                    error = other;
                    break;
                }
            }
        }
        // This write may have committed the entity, so its index rows stay.
        if let Some(unknown) = unknown {
            return Err(unknown);
        }
        self.abort(new, written).await;
        Err(error)
    }

    /// Checks whether this write committed the entity. Only a `WriteId` can prove it.
    fn is_committed_by_this(&self, found: &FoundEntity) -> bool {
        let id = Some(ValueRef::Guid(self.0.id));
        self.0.schema.write_id && found.pending.is_none() && found.row.properties.get(WRITE_ID) == id
    }

    /// Deletes the pending entity and its index rows. A row that cannot be deleted is left to a repair.
    async fn abort(&self, new: &Encoded, written: Vec<WrittenRow>) {
        let keys = &new.primary().keys;
        for _ in 0..MAX_ATTEMPTS {
            let deleted = match self.0.entity(keys).await {
                Ok(Some(found)) if found.pending == Some(self.0.id) => {
                    let table = self.0.schema.table().into();
                    self.0.backend().execute(&deletion(table, keys, &found.row.etag)).await
                }
                _ => break,
            };
            if !matches!(deleted, Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_))) {
                break;
            }
        }
        let (claims, rows): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|written| self.0.schema.is_unique(written.layout));
        // A writer that took such a claim since has written it again, under another version.
        IndexRows(self.0).release(keys, claims, None).await;
        IndexRows(self.0).roll_back(keys, rows, None).await;
    }

    /// Writes an entity over the one that was read, and keeps the properties that the struct does not know.
    ///
    /// `etag` is the version that was read. It becomes the entity's new version, also if a failed update had to fence
    /// the entity.
    pub(crate) async fn update(&self, old: &Loaded, etag: &mut ETag, new: &Encoded) -> Result<()> {
        let change = Change { old: Some(&old.rows), new: Some(new) };
        let keys = &new.primary().keys;
        let moved: Vec<_> = self.0.before_commit().filter(|layout| change.moves(*layout)).collect();
        let released = self.old_rows(&change, &moved, keys).await?;
        let rows = IndexRows(self.0);
        let written = match rows.write(new, &moved, Precondition::Version(etag)).await {
            Ok(written) => written,
            Err((error, written)) => {
                rows.roll_back(keys, written, Some(etag)).await;
                return Err(error);
            }
        };
        let replace = Action::Replace(self.0.properties_over(&old.unknown, new), IfMatch::ETag(etag.clone()));
        match self.commit(&change, keys, replace).await {
            Ok(committed) => *etag = self.versioned("update", keys, committed).await?,
            Err(unknown @ Error::OutcomeUnknown(_)) => return Err(unknown),
            Err(error) => {
                rows.roll_back(keys, written, Some(etag)).await;
                return Err(error);
            }
        }
        rows.release(keys, released, Some(etag)).await;
        self.propagate(&change, keys, Some(etag)).await;
        Ok(())
    }

    /// Deletes the entity that was read.
    pub(crate) async fn delete(&self, keys: &RowKeys, old: &LoadedRows, etag: &ETag) -> Result<()> {
        let change = Change { old: Some(old), new: None };
        let layouts: Vec<_> = self.0.before_commit().collect();
        let released = self.old_rows(&change, &layouts, keys).await?;
        self.commit(&change, keys, Action::Delete(IfMatch::ETag(etag.clone()))).await?;
        IndexRows(self.0).release(keys, released, None).await;
        self.propagate(&change, keys, None).await;
        Ok(())
    }

    /// Writes an entity, new or in place of the present one.
    pub(crate) async fn upsert(&self, new: &Encoded) -> Result<ETag> {
        let keys = &new.primary().keys;
        if !self.0.schema.has_indexes() {
            let upserted = self.commit(&Change::NONE, keys, Action::Upsert(self.0.properties(new))).await?;
            return self.versioned("upsert", keys, upserted).await;
        }
        self.put(new, false).await
    }

    /// Writes an entity, new or over the present one, and keeps the properties that the struct does not know.
    pub(crate) async fn merge(&self, new: &Encoded) -> Result<ETag> {
        self.put(new, true).await
    }

    /// Reads the present entity, and inserts or updates it.
    async fn put(&self, new: &Encoded, keeps_unknown: bool) -> Result<ETag> {
        let keys = &new.primary().keys;
        let mut delays = pacing::delays();
        loop {
            let write = self.0.with_new_id()?;
            let written = match write.committed(keys).await? {
                None => EntityWriter(&write).insert(new).await,
                Some(found) => {
                    let (mut etag, mut old) = (found.row.etag.clone(), found.into_loaded());
                    // Rows that a crash left behind are written again, whatever the entity says.
                    for layout in self.0.schema.propagated() {
                        if let Some(Some(row)) = old.rows.get_mut(layout) {
                            row.included = None;
                        }
                    }
                    if !keeps_unknown {
                        old.unknown = None;
                    }
                    EntityWriter(&write).update(&old, &mut etag, new).await.map(|()| etag)
                }
            };
            match written {
                Err(Error::AlreadyExists(row)) if matches!(write.occupant(keys).await?, Occupant::OtherKind) => {
                    return Err(Error::AlreadyExists(row));
                }
                Err(
                    error @ (Error::AlreadyExists(_)
                    | Error::NotFound(_)
                    | Error::ConditionNotMet(_)
                    | Error::Aborted(_)),
                ) => self.0.pause(&mut delays, error).await?,
                written => return written,
            }
        }
    }

    /// Deletes the present entity. Returns false if there is none.
    pub(crate) async fn remove(&self, keys: &RowKeys) -> Result<bool> {
        if !self.0.reads_removed() {
            return match self.commit(&Change::NONE, keys, Action::Delete(IfMatch::Any)).await {
                Err(Error::NotFound(_)) => Ok(false),
                removed => removed.map(|_| true),
            };
        }
        let mut delays = pacing::delays();
        loop {
            let Some(found) = self.0.committed(keys).await? else { return Ok(false) };
            match self.delete(keys, &found.encoded.into_loaded(), &found.row.etag).await {
                Err(Error::NotFound(_)) => return Ok(false),
                Err(error @ Error::ConditionNotMet(_)) => self.0.pause(&mut delays, error).await?,
                deleted => return deleted.map(|()| true),
            }
        }
    }

    /// Sets these properties of the present row, which no index depends on, if the row satisfies the condition.
    pub(crate) async fn patch(&self, keys: &RowKeys, properties: Properties, condition: IfMatch) -> Result<ETag> {
        let merge = Action::Merge(self.0.with_id(properties), condition);
        let patched = self.commit(&Change::NONE, keys, merge).await?;
        self.versioned("patch", keys, patched).await
    }

    /// Returns the ETag of a write that was applied.
    ///
    /// # Errors
    /// The ETag is not known: the answer was lost, and the row was changed since.
    async fn versioned(&self, operation: &'static str, keys: &RowKeys, etag: Option<ETag>) -> Result<ETag> {
        if let Some(etag) = etag {
            return Ok(etag);
        }
        let (row, reason) = (self.0.row_id(keys), "its ETag is not known".to_owned());
        let now = self.0.now(keys).await;
        Err(Box::new(OutcomeUnknownError { operation, row, reason, now }).into())
    }

    /// Commits the transaction of this one entity.
    pub(crate) async fn commit(&self, change: &Change<'_>, keys: &RowKeys, action: Action) -> Result<Option<ETag>> {
        let planned = Planned { write: self.0, change: *change, keys, action };
        Ok(commit(std::slice::from_ref(&planned), InTheWay::Look).await?.pop().flatten())
    }

    async fn propagate(&self, change: &Change<'_>, keys: &RowKeys, committed: Option<&ETag>) {
        if self.0.schema.has_indexes() {
            Propagation(self.0).run(change, keys, committed).await;
        }
    }

    /// Reads the rows that the entity had in these indexes, in their present versions.
    async fn old_rows(&self, change: &Change<'_>, layouts: &[usize], owner: &RowKeys) -> Result<Vec<WrittenRow>> {
        let rows = layouts.iter().filter_map(|layout| Some((*layout, change.old_keys(*layout)?)));
        self.0.own_rows(rows, owner).await
    }
}

/// Returns the properties of a pending entity without `IndexPending`.
fn without_pending(pending: &Properties) -> Properties {
    let mut properties = Properties::with_capacity(pending.as_bytes().len());
    for (name, value) in pending.iter().filter(|(name, _)| *name != PENDING) {
        properties.push(name, value);
    }
    properties
}
