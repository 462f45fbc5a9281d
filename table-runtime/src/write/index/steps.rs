//! The write of entities in steps: the rows in other partitions before the commit, the commit, then the release of rows
//! and the propagation.
//!
//! The entities are those of one transaction, the members. Each step is the same for one member and for many: their
//! pending inserts are one transaction, their index rows are written side by side, and one commit makes all of them
//! visible.

use std::time::Instant;

use futures_util::future::join3;
use table_model::unstable::{entity::PENDING, layout::LayoutExt};
use table_store::{
    ETag, Error, Guid, Properties, Result, ValueRef,
    backend::{Action, IfMatch, Operation},
};

use super::{
    change::Planned,
    claim::{OfMember, write_rows},
    commit::{self, Caller, commit},
    events::write_marks,
    execute::WriteFailure,
    leased::HeldLeases,
    lost::{WriteProof, has_event},
    members::{self, CommitCondition, TransactionMember},
    schema::{EncodedRow, pending},
    write::{EntityState, WriteAnswer, WrittenRow},
};
use crate::client::pacing;

/// The entity that a write left.
#[derive(Default)]
pub(super) struct Committed {
    /// Its version; `None` if it was deleted, or if a lost answer left the version unknown.
    pub(super) etag: Option<ETag>,
    /// Its properties, if they were read again before the commit: a patch of the pending entity may have changed them.
    pub(super) read: Option<Properties>,
}

impl<'p> Planned<'p> {
    /// Checks whether rows of the entity are written in steps of their own.
    pub(super) fn takes_steps(&self) -> bool {
        self.write.schema.in_steps(self.write.reach).any(|layout| self.change.keys(layout).next().is_some())
    }

    /// Returns the rows that are written in steps of their own before the commit.
    fn before_commit(&self) -> Vec<&'p EncodedRow> {
        let Self { write, change, fences, .. } = self;
        // A fence under the version from which they were made shows that copies are up to date.
        let copies = write.propagated().filter(|layout| *fences && write.schema.layouts[*layout].is_copy());
        write.before_commit().chain(copies).flat_map(|layout| change.added(layout)).collect()
    }
}

/// Writes entities of one partition in steps, all or none.
pub(super) async fn execute_steps(planned: &[Planned<'_>]) -> Result<Vec<Committed>, WriteFailure> {
    // A write of one entity was checked when that was encoded, but for its events.
    if planned.len() > 1 || planned.iter().any(|entity| entity.events.is_some()) {
        commit::check_planned(planned).await?;
    }
    let (folded, positions) = members::folded(planned);
    let mut members: Vec<_> = folded.into_iter().map(TransactionMember::new).collect();
    let mut committed = match in_steps(&mut members).await {
        Ok(committed) => committed,
        Err(mut failure) => {
            for (at, _) in &mut failure.fenced {
                *at = positions.iter().position(|position| position == at).unwrap_or(*at);
            }
            return Err(failure);
        }
    };
    let left = planned.iter().zip(positions).map(|(entity, at)| match entity.action {
        Action::Delete(_) => Committed::default(),
        _ => std::mem::take(&mut committed[at]),
    });
    Ok(left.collect())
}

async fn in_steps(members: &mut [TransactionMember<'_>]) -> Result<Vec<Committed>, WriteFailure> {
    let mut added: Vec<OfMember<&EncodedRow>> = Vec::new();
    let mut inserts = Vec::new();
    for (at, TransactionMember { planned, .. }) in members.iter().enumerate() {
        let rows = planned.before_commit();
        if matches!(planned.action, Action::Insert(_)) && !rows.is_empty() {
            inserts.push(at);
        }
        added.extend(rows.into_iter().map(|row| (at, row)));
    }
    let pending: Vec<_> = inserts.iter().map(|at| &members[*at].planned).collect();
    let marks = write_marks(members.iter().map(|member| (member.planned.write, member.planned.keys)));
    let (inserted, released, ()) = join3(insert_pending(&pending), read_released(members), marks).await;
    for (at, condition) in inserts.iter().zip(inserted?) {
        *members[*at].condition.get_mut() = condition;
    }
    let released = match released {
        Ok(released) => released,
        Err(error) => return Err(roll_back(members, Vec::new(), error).await),
    };
    let written = match write_rows(members, &added).await {
        Ok(written) => written,
        Err((error, written)) => return Err(roll_back(members, written, error).await),
    };
    let mut committed = match commit_members(members).await {
        Ok(committed) => committed,
        // The commit may have been carried out, so its index rows stay.
        Err(unknown @ Error::OutcomeUnknown(_)) if !members.iter().any(|member| member.planned.fences) => {
            return Err(WriteFailure { fenced: fenced(members), ..unknown.into() });
        }
        Err(error) => return Err(roll_back(members, written, error).await),
    };
    let after = members.iter().zip(&mut committed).zip(released).map(|((member, Committed { etag, .. }), released)| {
        let Planned { write, change, keys, fences, .. } = member.planned;
        async move {
            write.release(keys, released, etag).await;
            if !fences {
                write.propagate(change, keys, etag.as_ref()).await;
            }
        }
    });
    pacing::in_waves(after).await;
    Ok(committed)
}

/// Reads the index rows that each member will not have any more, in their present versions.
async fn read_released(members: &[TransactionMember<'_>]) -> Result<Vec<Vec<WrittenRow>>> {
    let reads = members.iter().map(|TransactionMember { planned: Planned { write, change, keys, .. }, .. }| {
        let removed = write.before_commit().flat_map(|layout| change.removed(layout));
        let removed: Vec<_> = removed.map(|old| (old.layout, &old.keys)).collect();
        async move { write.own_rows(&removed, keys).await }
    });
    pacing::in_waves(reads).await.into_iter().collect()
}

/// Writes the entities with `IndexPending` in one transaction, so that no reader returns them. Returns what must be stored
/// so that they may be committed.
///
/// Each request has an attempt of its own: one that was not answered may be carried out later, after its repetition, and
/// after another writer has deleted what that wrote.
async fn insert_pending(inserts: &[&Planned<'_>]) -> Result<Vec<CommitCondition>> {
    let Some(first) = inserts.first() else { return Ok(Vec::new()) };
    let (mut delays, mut was_lost) = (pacing::delays(), false);
    loop {
        let attempt = Guid::random()?;
        let condition = |etag| CommitCondition::Pending { attempt, etag, read: None };
        let operations = inserts.iter().map(|entity| {
            let mut pending = entity.action.properties().map(|written| written.clone_with_room(32)).unwrap_or_default();
            // The property of another program, which a migration keeps, makes way.
            pending.set(PENDING, ValueRef::Guid(attempt));
            Operation { row_key: entity.keys.row_key.clone(), action: Action::Insert(pending) }
        });
        let group = first.write.transaction(&first.keys.partition_key, operations.collect())?;
        let error = match first.write.backend().execute(&group).await {
            Ok(etags) => {
                let conditions = inserts.iter().zip(etags).map(|(entity, etag)| {
                    etag.map(condition).ok_or_else(|| entity.write.no_etag("insert", entity.keys))
                });
                return conditions.collect();
            }
            Err(Error::AlreadyExists(row)) => {
                let defers = inserts.iter().any(|entity| entity.defers && entity.keys.row_key == row.row_key);
                if defers && !was_lost {
                    return Err(Error::AlreadyExists(row));
                }
                Error::AlreadyExists(row)
            }
            Err(lost @ Error::OutcomeUnknown(_)) => {
                was_lost = true;
                lost
            }
            Err(error) => return Err(error),
        };
        // A row with this attempt proves that the request was carried out; a row without it proves nothing.
        let asked = Instant::now();
        let existing = first.write.existing(&inserts.iter().map(|entity| entity.keys).collect::<Vec<_>>()).await?;
        let ways = inserts
            .iter()
            .zip(existing)
            .map(|(entity, existing)| entity.write.make_way_of(existing, asked, entity.keys, Some(attempt)));
        let found: Vec<_> = pacing::in_waves(ways).await.into_iter().collect::<Result<_>>()?;
        let own = found.iter().filter_map(|found| match found {
            EntityState::Pending(_, etag) => Some(condition(etag.clone())),
            _ => None,
        });
        let own: Vec<_> = own.collect();
        if own.len() == inserts.len() {
            return Ok(own);
        }
        if !own.is_empty() {
            delete_pending(inserts, attempt).await;
        }
        let present = found.iter().zip(inserts).find(|(found, _)| matches!(found, EntityState::Committed(_)));
        if let Some((_, present)) = present {
            return Err(match error {
                Error::AlreadyExists(row) if row.row_key == present.keys.row_key => Error::AlreadyExists(row),
                _ => Error::AlreadyExists(present.row_id().into()),
            });
        }
        first.write.pause(&mut delays, error).await?;
    }
}

/// Deletes the pending inserts of this attempt: in one transaction, and one by one if that fails. A row that cannot be
/// deleted is left to a repair.
async fn delete_pending(inserts: &[&Planned<'_>], attempt: Guid) {
    let Some(Planned { write, keys: first, .. }) = inserts.first() else { return };
    let keys: Vec<_> = inserts.iter().map(|entity| entity.keys).collect();
    let (mut delays, mut at_once) = (pacing::delays(), keys.len());
    while let Ok(found) = write.existing(&keys).await {
        let deletions = keys.iter().zip(found).filter_map(|(keys, found)| match found {
            EntityState::Pending(now, etag) if now == attempt => {
                Some(Operation { row_key: keys.row_key.clone(), action: Action::Delete(IfMatch::ETag(etag)) })
            }
            _ => None,
        });
        let deletions: Vec<_> = deletions.collect();
        let sent = deletions.chunks(at_once).map(|operations| async move {
            write.send(&write.transaction(&first.partition_key, operations.to_vec())?).await
        });
        let was_changed = |answer: &Result<_>| matches!(answer, Ok(WriteAnswer::LostRace(_) | WriteAnswer::Lost(_)));
        if !pacing::in_waves(sent).await.iter().any(was_changed) || !delays.wait(write.backend()).await {
            return;
        }
        at_once = 1;
    }
}

/// Commits the members: removes `IndexPending` from those that are pending, and changes the others in their versions. From
/// then on readers see all of it.
///
/// # Errors
/// Nothing was written, unless the error is [`Error::OutcomeUnknown`].
async fn commit_members(members: &mut [TransactionMember<'_>]) -> Result<Vec<Committed>> {
    let (mut delays, mut unknown) = (pacing::delays(), None);
    let error = loop {
        let pending = members.iter_mut().position(|member| member.attempt().is_some());
        let planned: Vec<_> = members.iter_mut().map(TransactionMember::committing).collect();
        let failed = match (commit(&planned, Caller::Transaction).await, pending) {
            (Ok(etags), _) => return Ok(committed(members, etags)),
            (Err(failed @ (Error::OutcomeUnknown(_) | Error::ConditionNotMet(_) | Error::NotFound(_))), Some(_))
                if !planned[0].write.gave_up() =>
            {
                failed
            }
            (Err(error), _) => break error,
        };
        match look_again(members, &planned, failed, &mut unknown).await {
            Ok(Some(etags)) => return Ok(committed(members, etags)),
            Ok(None) => {}
            Err(error) => break error,
        }
        let aborted = Error::Aborted(planned[pending.unwrap_or_default()].row_id().into());
        if let Err(error) = planned[0].write.pause(&mut delays, aborted).await {
            break error;
        }
    };
    // This write may have committed the entities, so its index rows stay.
    Err(unknown.unwrap_or(error))
}

fn committed(members: &mut [TransactionMember<'_>], etags: Vec<Option<ETag>>) -> Vec<Committed> {
    etags.into_iter().zip(members).map(|(etag, member)| Committed { etag, read: member.take_read() }).collect()
}

/// Looks what became of a commit that failed, or whose answer was lost. Returns the version of each member if the commit
/// was carried out after all, and `None` if it may be repeated, with what is pending now.
///
/// # Errors
/// Returns an error if the members cannot be committed any more.
async fn look_again(
    members: &mut [TransactionMember<'_>],
    planned: &[Planned<'_>],
    failed: Error,
    unknown: &mut Option<Error>,
) -> Result<Option<Vec<Option<ETag>>>> {
    let mut refused = match failed {
        lost @ Error::OutcomeUnknown(_) => {
            *unknown = Some(lost);
            None
        }
        refused => Some(refused),
    };
    let has_event = has_event(planned).await;
    let reads = planned
        .iter()
        .map(|entity| async move { entity.write.get(&entity.write.table_of(entity.keys)?, entity.keys).await });
    let rows: Vec<_> = pacing::in_waves(reads).await.into_iter().collect::<Result<_>>()?;
    let proofs: Vec<_> = planned.iter().zip(&rows).map(|(entity, row)| entity.proof(row.as_ref(), has_event)).collect();
    if has_event || proofs.iter().any(|proof| !matches!(proof, WriteProof::None)) {
        // A migration may have passed the entities by while they were pending.
        return match (HeldLeases::of_layouts(planned).await, unknown.take()) {
            (Err(_), Some(unknown)) => Err(unknown),
            _ => Ok(Some(proofs.into_iter().map(WriteProof::version).collect())),
        };
    }
    let (mut outdated, mut aborted, mut is_final) = (None, None, false);
    for (member, row) in members.iter_mut().zip(rows) {
        let condition = member.condition.get_mut();
        // A row without a version that is gone may come back.
        let has_version = matches!(condition, CommitCondition::Version(_));
        let CommitCondition::Pending { attempt, etag, read } = condition else {
            if let Some(Error::ConditionNotMet(row) | Error::NotFound(row)) = &refused
                && row.row_key == member.planned.keys.row_key
            {
                (outdated, is_final) = (refused.take(), has_version);
            }
            continue;
        };
        match row {
            // Another writer fenced it, or patched it. The patch stays.
            Some(row) if pending(&row) == Some(*attempt) => {
                // A request under the earlier version cannot be applied any more.
                *unknown = unknown.take().filter(|_| row.etag == *etag);
                *etag = row.etag;
                *read = Some(row.properties.without(PENDING));
            }
            // A row of another attempt is not this insert: it is another writer's, or that of an earlier request, which
            // arrived late. The claims may be gone.
            _ => aborted = aborted.or_else(|| Some(Error::Aborted(member.planned.row_id().into()))),
        }
    }
    // The version that a member had never comes back. If all others are still pending, nothing was applied before.
    if is_final && aborted.is_none() {
        *unknown = None;
    }
    outdated.or(aborted).map_or(Ok(None), Err)
}

/// Rolls back what was written for members that were not committed, by the rules of each of them.
async fn roll_back(
    members: &mut [TransactionMember<'_>],
    written: Vec<OfMember<WrittenRow>>,
    error: Error,
) -> WriteFailure {
    if members.iter().any(|member| member.planned.fences) {
        let uncovered = written.into_iter().map(|(_, row)| row).collect();
        return WriteFailure { uncovered, ..error.into() };
    }
    let mut rows: Vec<Vec<WrittenRow>> = members.iter().map(|_| Vec::new()).collect();
    for (at, row) in written {
        rows[at].push(row);
    }
    let attempts: Vec<_> = members.iter_mut().map(TransactionMember::attempt).collect();
    let pending: Vec<_> = members.iter().zip(&attempts).filter(|(_, attempt)| attempt.is_some()).collect();
    if let Some((_, Some(attempt))) = pending.first() {
        let pending: Vec<_> = pending.iter().map(|(member, _)| &member.planned).collect();
        delete_pending(&pending, *attempt).await;
    }
    let rolled_back = members.iter_mut().zip(rows).map(|(member, rows)| async move {
        let Planned { write, keys, .. } = member.planned;
        let CommitCondition::Version(version) = member.condition.get_mut() else {
            let (claims, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| write.schema.is_unique(row.layout));
            // A writer that took such a claim since has written it again, under another version.
            write.release(keys, claims, &mut None).await;
            return write.roll_back(keys, rows, &mut None).await;
        };
        let mut now = Some(version.clone());
        write.roll_back(keys, rows, &mut now).await;
        *version = now.unwrap_or_else(|| version.clone());
    });
    pacing::in_waves(rolled_back).await;
    WriteFailure { fenced: fenced(members), ..error.into() }
}

/// Returns the members to which this write gave another version.
fn fenced(members: &mut [TransactionMember<'_>]) -> Vec<(usize, ETag)> {
    let versions = members.iter_mut().enumerate().filter_map(|(at, TransactionMember { planned, condition })| {
        let CommitCondition::Version(version) = condition.get_mut() else { return None };
        (planned.version() != Some(version)).then(|| (at, version.clone()))
    });
    versions.collect()
}
