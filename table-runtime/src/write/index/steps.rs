//! The write of an entity in steps: the rows in other partitions before the commit, the commit, then the release of rows
//! and the propagation.

use std::slice;

use table_model::unstable::{
    entity::{PENDING, WRITE_ID},
    layout::LayoutExt,
};
use table_store::{
    ETag, Error, Guid, Properties, Result, ValueRef,
    backend::{Action, IfMatch},
    unstable::RowKeys,
};

use super::{
    change::Planned,
    claim::Precondition,
    commit::{InTheWay, commit},
    execute::WriteFailure,
    lost::is_same,
    schema::{EncodedRow, FoundEntity},
    write::{EntityState, Write, WriteAnswer, WrittenRow, single},
};
use crate::client::pacing;

/// The entity that a write left.
pub(super) struct Committed {
    /// Its version; `None` if it was deleted, or if a lost answer left the version unknown.
    pub(super) etag: Option<ETag>,
    /// Its properties, if they were read again before the commit: a patch of the pending entity may have changed them.
    pub(super) read: Option<Properties>,
}

/// A pending insert that is known to have been carried out.
struct PendingInsert {
    /// The id of the request that wrote it.
    attempt: Guid,
    etag: ETag,
}

impl Planned<'_> {
    /// Checks whether rows of the entity are written in steps of their own.
    pub(super) fn takes_steps(&self) -> bool {
        self.write.schema.in_steps(self.write.reach).next().is_some()
    }

    /// Returns the rows that are written in steps of their own before the commit.
    fn before_commit(&self) -> Vec<&EncodedRow> {
        let Self { write, change, fences, .. } = self;
        // A fence under the version from which they were made shows that copies are up to date.
        let copies = write.propagated().filter(|layout| *fences && write.schema.layouts[*layout].is_copy());
        write.before_commit().chain(copies).flat_map(|layout| change.added(layout)).collect()
    }

    /// Writes the entity in steps.
    pub(super) async fn execute_steps(&self) -> Result<Committed, WriteFailure> {
        let Self { write, change, keys, action, fences, .. } = self;
        let added = self.before_commit();
        let (committed, released) = match action {
            Action::Insert(properties) if !added.is_empty() => (self.insert(properties, &added).await?, Vec::new()),
            _ => self.commit_over(&added).await?,
        };
        let mut version = committed.etag;
        write.release(keys, released, &mut version).await;
        if !fences {
            write.propagate(*change, keys, version.as_ref()).await;
        }
        Ok(Committed { etag: version, ..committed })
    }

    /// Inserts the entity as a pending one, writes its index rows and commits.
    async fn insert(&self, properties: &Properties, added: &[&EncodedRow]) -> Result<Committed> {
        let Self { write, keys, defers, .. } = self;
        let pending = write.insert_pending(keys, properties, *defers).await?;
        let attempt = pending.attempt;
        match write.write_rows(added, keys, Precondition::Pending(attempt)).await {
            Ok(written) => self.commit_pending(properties, pending, written).await,
            Err((error, written)) => {
                write.abort(keys, attempt, written).await;
                Err(error)
            }
        }
    }

    /// Writes the new index rows and commits. Returns also the rows to release.
    async fn commit_over(&self, added: &[&EncodedRow]) -> Result<(Committed, Vec<WrittenRow>), WriteFailure> {
        let Self { write, change, keys, .. } = self;
        let removed = write.before_commit().flat_map(|layout| change.removed(layout));
        let removed: Vec<_> = removed.map(|old| (old.layout, &old.keys)).collect();
        let released = write.own_rows(&removed, keys).await?;
        let mut version = self.version().cloned();
        let rows = match &version {
            Some(version) => write.write_rows(added, keys, Precondition::Version(version)).await,
            // A write of any version adds no row.
            None => Ok(Vec::new()),
        };
        let (error, written) = match rows {
            Ok(written) => match commit(slice::from_ref(self), InTheWay::Look).await {
                Ok(etags) => return Ok((Committed { etag: etags.into_iter().next().flatten(), read: None }, released)),
                // The commit may have been carried out, so its index rows stay.
                Err(unknown @ Error::OutcomeUnknown(_)) if !self.fences => return Err(unknown.into()),
                Err(error) => (error, written),
            },
            Err(failed) => failed,
        };
        if self.fences {
            return Err(WriteFailure { uncovered: written, ..error.into() });
        }
        write.roll_back(keys, written, &mut version).await;
        Err(WriteFailure { version, ..error.into() })
    }

    /// Removes `IndexPending` from an entity with these properties: from then on readers return the entity.
    async fn commit_pending(
        &self,
        properties: &Properties,
        PendingInsert { attempt, mut etag }: PendingInsert,
        written: Vec<WrittenRow>,
    ) -> Result<Committed> {
        let Self { write, keys, .. } = self;
        let aborted = || Error::Aborted(write.row_id(keys).into());
        let (mut read, mut unknown) = (None, None);
        let mut delays = pacing::delays();
        let error = loop {
            let properties = read.as_ref().unwrap_or(properties);
            let replace = Action::Replace(properties.clone(), IfMatch::ETag(etag.clone()));
            let planned = Planned { action: replace, ..self.clone() };
            match commit(slice::from_ref(&planned), InTheWay::Look).await {
                Ok(etags) => return Ok(Committed { etag: etags.into_iter().next().flatten(), read }),
                Err(lost @ Error::OutcomeUnknown(_)) => unknown = Some(lost),
                Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => {}
                Err(error) => break error,
            }
            match write.entity(keys).await {
                Ok(Some(found)) if write.has_committed(&found) => {
                    // A migration may have passed the entity by while it was pending.
                    let lease = write.tables.write_lease(&write.schema.own_id()).await;
                    if let (Err(_), Some(unknown)) = (lease, unknown) {
                        return Err(unknown);
                    }
                    // A program without the write id may have patched it since.
                    let etag = is_same(&found.row.properties, properties).then_some(found.row.etag);
                    return Ok(Committed { etag, read });
                }
                // Another writer fenced it, or patched it. The patch stays. A row of another attempt is not this insert: it is
                // another writer's, or that of an earlier request, which arrived late. The claims may be gone.
                Ok(Some(found)) if found.pending == Some(attempt) => {
                    // A request under the earlier version cannot be applied any more.
                    unknown = unknown.filter(|_| found.row.etag == etag);
                    etag = found.row.etag;
                    read = Some(found.row.properties.without(PENDING));
                }
                Ok(_) => break aborted(),
                Err(error) => break error,
            }
            if let Err(error) = write.pause(&mut delays, aborted()).await {
                break error;
            }
        };
        // This write may have committed the entity, so its index rows stay.
        if let Some(unknown) = unknown {
            return Err(unknown);
        }
        write.abort(keys, attempt, written).await;
        Err(error)
    }
}

impl Write {
    /// Writes the entity with `IndexPending`, so that no reader returns it.
    ///
    /// Each request has an attempt of its own: one that was not answered may be carried out later, after its repetition, and
    /// after another writer has deleted what that wrote.
    async fn insert_pending(&self, keys: &RowKeys, properties: &Properties, defers: bool) -> Result<PendingInsert> {
        let (mut delays, mut was_lost) = (pacing::delays(), false);
        loop {
            let attempt = Guid::random()?;
            let mut pending = properties.clone_with_room(32);
            // The property of another program, which a migration keeps, makes way.
            pending.set(PENDING, ValueRef::Guid(attempt));
            let error = match self.send(&single(self.schema.table(), keys, Action::Insert(pending))?).await? {
                WriteAnswer::Done(etag) => {
                    let etag = etag.ok_or_else(|| self.no_etag("insert", keys))?;
                    return Ok(PendingInsert { attempt, etag });
                }
                WriteAnswer::LostRace(exists) if !was_lost && defers => return Err(exists),
                WriteAnswer::LostRace(exists) => exists,
                WriteAnswer::Lost(error) => {
                    was_lost = true;
                    error.into()
                }
            };
            match self.make_way(keys, Some(attempt)).await? {
                EntityState::None => self.pause(&mut delays, error).await?,
                // It was carried out, and its answer lost.
                EntityState::Pending(_, etag) => return Ok(PendingInsert { attempt, etag }),
                EntityState::Committed(_) => {
                    let is_lost = matches!(error, Error::OutcomeUnknown(_));
                    return Err(if is_lost { Error::AlreadyExists(self.row_id(keys).into()) } else { error });
                }
            }
        }
    }

    /// Checks whether this write committed the entity. Only a `WriteId` can prove it.
    fn has_committed(&self, found: &FoundEntity) -> bool {
        let id = Some(ValueRef::Guid(self.id));
        self.schema.write_id && found.pending.is_none() && found.row.properties.get(WRITE_ID) == id
    }

    /// Deletes the pending entity and its index rows. A row that cannot be deleted is left to a repair.
    async fn abort(&self, keys: &RowKeys, attempt: Guid, written: Vec<WrittenRow>) {
        let mut delays = pacing::delays();
        while let Ok(Some(found)) = self.entity(keys).await
            && found.pending == Some(attempt)
        {
            let deleted = self.delete_row(self.schema.table().into(), keys, &found.row.etag).await;
            if deleted.is_err() || deleted.is_ok_and(|answer| answer.is_settled()) || !delays.wait(self.backend()).await
            {
                break;
            }
        }
        let (claims, rows): (Vec<_>, Vec<_>) =
            written.into_iter().partition(|written| self.schema.is_unique(written.layout));
        // A writer that took such a claim since has written it again, under another version.
        self.release(keys, claims, &mut None).await;
        self.roll_back(keys, rows, &mut None).await;
    }
}
