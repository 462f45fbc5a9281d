//! The execution of entity writes: read, plan, and one commit or steps; and again after a lost race.
//!
//! # One insert
//!
//! `tables.insert(&employee)`, where an index in other partitions is unique, on a store whose transactions span one partition:
//!
//! 1. `write/verbs.rs` makes a value of [`EntityWrite`]: the verb, and the entity, which `schema.rs` encodes in every layout and checks.
//! 2. [`execute_one`] reads the entity if the verb depends on it, which an insert does not, and plans the write. Transactions and bulk
//!    writes are lists of such values, and enter here.
//! 3. `steps.rs` inserts the entity row as pending, because the index has rows in other partitions. Without them, step 5 follows.
//! 4. `claim.rs` inserts the row of the unique value. If there is one, it examines the owner: a violation, or the claim is taken over.
//! 5. `commit.rs` replaces the entity row without the mark of pending inserts, in one transaction with the rows in its partition, which
//!    `change.rs` plans, `groups.rs` puts together and `leased.rs` sends. From now on readers see the entity.
//! 6. `propagate.rs` writes copies in other partitions. If step 4 or 5 fails, `steps.rs` deletes what was written.
//!
//! Each request goes through the client of the handle (`unstable/client.rs` of `table-store`) to a `Backend`. `write.rs` says what its
//! answer means: done, a lost race, or a lost answer, which `lost.rs` resolves for a commit. `docs/index-protocol.md` says why the steps
//! are in this order.

use std::{iter, slice};

use futures_util::future::{FutureExt, try_join};
use table_model::unstable::entity::Unknown;
use table_store::{
    ETag, Error, Properties, Result,
    backend::{Action, BoxFuture},
    error::OutcomeUnknownError,
};

use super::{
    change::Planned,
    commit::{self, Caller, commit},
    entity_write::{Before, BegunWrite, EntityWrite},
    events::{leave_out_deleted, record, write_marks},
    lost::fence_unchanged,
    members,
    steps::{Committed, execute_steps},
    write::{Write, WrittenRow},
};
use crate::client::pacing;

/// The result of an entity write.
pub struct WrittenEntity {
    /// The entity's version; `None` if it was deleted, or if a lost answer left the version unknown.
    pub(crate) etag: Option<ETag>,
    /// The properties that the struct does not know and the write has kept.
    pub(crate) unknown: Unknown,
    /// The entity's properties, if they were read again before the commit: a patch may have changed them.
    pub(crate) read: Option<Properties>,
}

/// The failure of entity writes. No entity was written, unless the error is [`Error::OutcomeUnknown`].
pub struct WriteFailure {
    pub error: Error,
    /// The positions of entities that had to have a version, with those that the write gave them: a roll back fences.
    pub(super) fenced: Vec<(usize, ETag)>,
    /// Positions of the writes that lost a race and can begin anew.
    pub lost_race: Vec<usize>,
    /// Index rows that were written, and that no fence covers: they are rolled back after the last attempt.
    pub(super) uncovered: Vec<WrittenRow>,
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self { error, fenced: Vec::new(), lost_race: Vec::new(), uncovered: Vec::new() }
    }
}

/// Checks writes of one partition before anything is read for them: reads can only add operations.
pub fn check(writes: &[BegunWrite]) -> Result<()> {
    if !writes.iter().any(BegunWrite::reads) {
        return Ok(());
    }
    let unchanged: Vec<_> = writes.iter().map(BegunWrite::if_unchanged).collect();
    commit::check(&plan(writes, &unchanged, &[])?)
}

/// Plans the writes, given what was read for them, and what they leave in their rows, if it was read.
fn plan<'p>(writes: &'p [BegunWrite], before: &'p [Option<Before>], carried: &[Unknown]) -> Result<Vec<Planned<'p>>> {
    let carried = carried.iter().map(|carried| carried.as_deref()).chain(iter::repeat(None));
    let planned = writes.iter().zip(before).zip(carried);
    let mut planned: Vec<_> = planned.map(|((write, before), carried)| write.plan(before.as_ref(), carried)).collect();
    record(writes, before, &mut planned)?;
    Ok(planned)
}

/// Writes one entity.
pub async fn execute_one(write: &mut BegunWrite) -> Result<WrittenEntity, WriteFailure> {
    let written = execute(slice::from_mut(write)).await?;
    written.into_iter().next().ok_or_else(|| unreachable!("one write has one result"))
}

/// Writes entities of one partition, all or none. If another writer changed a row that was read for a write, that write
/// begins anew after a delay.
///
/// After a failure, a write that requires a version requires the one that a roll back gave the row.
pub async fn execute(writes: &mut [BegunWrite]) -> Result<Vec<WrittenEntity>, WriteFailure> {
    let mut uncovered = Vec::new();
    let written = execute_leaving(writes, &mut uncovered).await;
    if let ([fence], false) = (&*writes, uncovered.is_empty()) {
        // A writer that read the entity's index rows before these were written does not release them, and may still commit
        // another value. So the roll back comes after the last fence.
        if written.is_err() {
            fence.write.fence_present(fence.entity.keys()).await;
        }
        fence.write.roll_back(fence.entity.keys(), uncovered, &mut None).await;
    }
    written
}

/// Writes entities as [`execute`] does. Adds the index rows that no fence covers to `uncovered`.
async fn execute_leaving(
    writes: &mut [BegunWrite],
    uncovered: &mut Vec<WrittenRow>,
) -> Result<Vec<WrittenEntity>, WriteFailure> {
    let mut delays = pacing::delays();
    loop {
        let mut failure = match attempt(writes, Caller::Transaction).await {
            Ok(written) => return Ok(written),
            Err(failure) => failure,
        };
        // An earlier version of a row that was written again is not there any more.
        let is_again = |row: &mut WrittenRow| {
            failure.uncovered.iter().any(|now| (now.layout, &now.keys) == (row.layout, &row.keys))
        };
        uncovered.extract_if(.., is_again).for_each(drop);
        uncovered.append(&mut failure.uncovered);
        for (at, version) in failure.fenced.drain(..) {
            writes[at].entity.set_version(version);
        }
        let Some(first) = failure.lost_race.first().map(|at| &writes[*at]) else { return Err(failure) };
        if !first.goes_on() {
            first.write.pause(&mut delays, failure.error).await?;
        }
        let looks_again = first.goes_on() && writes.iter().any(|write| write.entity.looks());
        failure.lost_race.iter().try_for_each(|at| writes[*at].begin_anew())?;
        if looks_again {
            // A second row is in the way, so there may be many.
            for at in 0..writes.len() {
                let (before, rest) = writes.split_at_mut(at);
                // An insert in the place of a row that the transaction deletes has none in its way.
                if before.iter().all(|other| other.entity.keys() != rest[0].entity.keys()) {
                    rest[0].look();
                }
            }
        }
        // Another writer may have read a claim that this attempt has left, so no later one takes it for its own.
        if writes.len() > 1 {
            writes.iter_mut().try_for_each(BegunWrite::renew)?;
        }
    }
}

/// Writes entities as [`execute`] does, once.
pub async fn attempt(writes: &[BegunWrite], caller: Caller) -> Result<Vec<WrittenEntity>, WriteFailure> {
    writes.iter().try_for_each(BegunWrite::check_present)?;
    let before = if writes.iter().any(BegunWrite::reads) {
        let marks = write_marks(writes.iter().map(|write| (&write.write, write.entity.keys())));
        let marks = async {
            marks.await;
            Ok(())
        };
        make_room(writes, try_join(read(writes), marks).await?.0).await?
    } else {
        writes.iter().map(|_| None).collect()
    };
    let mut carried = Vec::with_capacity(writes.len());
    for (write, before) in writes.iter().zip(&before) {
        carried.push(write.carried(before.as_ref()).await?);
    }
    let mut planned = plan(writes, &before, &carried)?;
    let mut carried_out = carry_out(&planned, caller).await;
    // A bulk write divides a transaction that is too large.
    if let (Err(WriteFailure { error: Error::Limit(_), .. }), true) =
        (&carried_out, caller == Caller::Transaction || writes.len() == 1)
        && leave_out_deleted(&mut planned)
    {
        carried_out = carry_out(&planned, caller).await;
    }
    let committed = match carried_out {
        Ok(committed) => committed,
        Err(WriteFailure { error: Error::OutcomeUnknown(mut lost), mut fenced, uncovered, .. })
            if planned.iter().any(|planned| planned.events.is_some()) =>
        {
            if let Some((at, version)) = fence_unchanged(&planned, &fenced).await {
                fenced.retain(|(other, _)| *other != at);
                fenced.push((at, version));
                if at == 0 {
                    lost.now = planned[0].write.row_now(planned[0].keys).await;
                }
            }
            return Err(WriteFailure { error: Error::OutcomeUnknown(lost), fenced, lost_race: Vec::new(), uncovered });
        }
        Err(failure) => {
            let error = recent(&planned, failure.error).await;
            let gave_up = writes.iter().any(|write| write.write.gave_up());
            let lost_race = writes.iter().enumerate().filter(|(_, write)| !gave_up && write.lost_race(&error));
            let lost_race = lost_race.map(|(at, _)| at).collect();
            return Err(WriteFailure { error, lost_race, ..failure });
        }
    };
    let written = carried.into_iter().zip(committed);
    Ok(written.map(|(unknown, Committed { etag, read })| WrittenEntity { etag, unknown, read }).collect())
}

/// Carries out planned writes, in steps if one of them has rows in other partitions.
async fn carry_out(planned: &[Planned<'_>], caller: Caller) -> Result<Vec<Committed>, WriteFailure> {
    // A value may pass between writes that were packed.
    if caller == Caller::Transaction {
        members::check(planned).await?;
    }
    if planned.iter().any(Planned::takes_steps) {
        return execute_steps(planned).await;
    }
    let etags = commit(planned, caller).await?;
    Ok(etags.into_iter().map(|etag| Committed { etag, read: None }).collect())
}

/// Looks again after a unique violation of a reindex: the value may have passed to the other entity. If the entity has
/// changed since it was read, returns that error, so that the reindex begins anew.
async fn recent(planned: &[Planned<'_>], error: Error) -> Error {
    let Error::UniqueViolation(violation) = &error else { return error };
    let fence = planned.iter().find(|planned| planned.fences && planned.row_id() == violation.entity);
    match fence {
        Some(fence) => commit::outdated(slice::from_ref(fence)).await.unwrap_or_else(Some).unwrap_or(error),
        None => error,
    }
}

/// Removes entities that have expired, if one transaction has no room for their index rows beside those of the entities that
/// take their place. Returns what is stored then.
async fn make_room(writes: &[BegunWrite], before: Vec<Option<Before>>) -> Result<Vec<Option<Before>>> {
    let has_expired = |before: &Option<Before>| before.as_ref().is_some_and(|before| before.has_expired);
    let fits = |before: &[Option<Before>]| commit::check(&plan(writes, before, &[])?);
    if !before.iter().any(has_expired) || !matches!(fits(&before), Err(Error::Limit(_))) {
        return Ok(before);
    }
    let (expired, left): (Vec<_>, Vec<_>) =
        before.into_iter().map(|before| if has_expired(&before) { (before, None) } else { (None, before) }).unzip();
    fits(&left)?;
    for (write, before) in writes.iter().zip(expired).filter_map(|(write, before)| Some((write, before?))) {
        write.write.expire(EntityWrite::expire_before(write.entity.keys().clone(), before)).await?;
    }
    // Another writer may have been faster.
    read(writes).await
}

/// Reads the stored entities on which the writes depend.
async fn read(writes: &[BegunWrite]) -> Result<Vec<Option<Before>>> {
    if let [write] = writes {
        return Ok(vec![write.read().await?]);
    }
    let mut reads: Vec<BoxFuture<'_, Result<(usize, Option<Before>)>>> = Vec::new();
    for (at, write) in writes.iter().enumerate().filter(|(_, write)| write.reads()) {
        reads.push(Box::pin(async move { Ok((at, write.read().await?)) }));
    }
    let mut before: Vec<_> = writes.iter().map(|_| None).collect();
    for (at, read) in pacing::concurrently(reads).await? {
        before[at] = read;
    }
    Ok(before)
}

impl Write {
    /// Deletes an entity that has expired, in the version whose time was read, with all of its rows. Returns false if another
    /// writer was faster, or if the answer was lost: its caller then reads the entity again, and judges the time anew.
    ///
    /// A failure leaves the rows of the entity as they are, and so does a lost answer.
    pub(super) fn expire(&self, entity: EntityWrite) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let begun = entity.begin(self.with_new_id()?);
            match attempt(slice::from_ref(&begun), Caller::Transaction).await.map_err(|failure| failure.error) {
                Ok(_) => Ok(true),
                Err(Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }
}

impl BegunWrite {
    /// Returns the version that the write gave the entity.
    ///
    /// # Errors
    /// The version is not known: the answer was lost, and the row was changed since.
    pub async fn version(&self, written: Option<ETag>) -> Result<ETag, Box<OutcomeUnknownError>> {
        if let Some(etag) = written {
            return Ok(etag);
        }
        let (row, reason) = (self.write.row_id(self.entity.keys()), "its ETag is not known".to_owned());
        let mut error = OutcomeUnknownError::new(self.entity.verb.name(), row, reason);
        error.now = self.write.row_now(self.entity.keys()).await;
        Err(Box::new(error))
    }

    /// Returns the properties of the entity's row after this update, and those of them that the struct does not know. Returns
    /// `None` if they depend on a request, or if the update can fail for a reason of its own: it changes the keys of index rows,
    /// or is larger than a transaction.
    pub fn row_afterwards(&self) -> Option<(Properties, Unknown)> {
        // A request that this begins is dropped: a read of the catalog.
        let carried = self.carried(None).now_or_never()?.ok()?;
        let (before, unknown) = ([self.if_unchanged()], carried.clone());
        let planned = plan(slice::from_ref(self), &before, &[carried]).ok()?;
        commit::check(&planned).ok()?;
        let Planned { action: Action::Replace(properties, _), change, .. } = planned.into_iter().next()? else {
            return None;
        };
        change.keeps_keys(&self.write.schema).then_some((properties, unknown))
    }
}
