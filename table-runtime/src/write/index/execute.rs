//! The execution of entity writes: read, plan, and one commit or steps; and again after a lost race.

use std::slice;

use table_store::{ETag, Error, Properties, Result, backend::BoxFuture, error::OutcomeUnknownError};

use super::{
    commit::{self, InTheWay, commit},
    entity_write::{Before, BegunWrite, EntityWrite},
    steps::Committed,
    write::Write,
};
use crate::{client::pacing, model::entity::Unknown};

/// The result of an entity write.
pub struct WrittenEntity {
    /// The entity's version; `None` if it was deleted, or if a lost answer left the version unknown.
    pub(crate) etag: Option<ETag>,
    /// The properties that the struct does not know and the write has kept.
    pub(crate) unknown: Unknown,
    /// The entity's properties, if they were read again before the commit: a patch may have changed them.
    pub(crate) read: Option<Properties>,
}

/// The failure of entity writes. Nothing was written, unless the error is [`Error::OutcomeUnknown`].
pub struct WriteFailure {
    pub error: Error,
    /// The version that the entity had to have, or another one that a roll back gave it.
    pub version: Option<ETag>,
    /// Position of the write that lost a race and can begin anew.
    pub lost_race: Option<usize>,
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self { error, version: None, lost_race: None }
    }
}

/// Checks writes of one partition before anything is read for them: reads can only add operations.
pub fn check(writes: &[BegunWrite]) -> Result<()> {
    if !writes.iter().any(BegunWrite::reads) {
        return Ok(());
    }
    let unchanged: Vec<_> = writes.iter().map(BegunWrite::if_unchanged).collect();
    let planned = writes.iter().zip(&unchanged).map(|(write, before)| write.plan(before.as_ref(), None));
    commit::check(&planned.collect::<Vec<_>>())
}

/// Writes one entity.
pub async fn execute_one(write: &mut BegunWrite) -> Result<WrittenEntity, WriteFailure> {
    let written = execute(slice::from_mut(write)).await?;
    written.into_iter().next().ok_or_else(|| unreachable!("one write has one result"))
}

/// Writes entities of one partition, all or none; a single one may take steps. If another writer changed a row that was
/// read for a write, that write begins anew after a delay.
pub async fn execute(writes: &mut [BegunWrite]) -> Result<Vec<WrittenEntity>, WriteFailure> {
    let mut delays = pacing::delays();
    loop {
        match attempt(writes, InTheWay::Look).await {
            Err(WriteFailure { error, lost_race: Some(at), .. }) => {
                if !writes[at].goes_on() {
                    writes[at].write.pause(&mut delays, error).await?;
                }
                writes[at].begin_anew()?;
            }
            written => return written,
        }
    }
}

/// Writes entities as [`execute`] does, once.
pub async fn attempt(writes: &[BegunWrite], in_the_way: InTheWay) -> Result<Vec<WrittenEntity>, WriteFailure> {
    writes.iter().try_for_each(BegunWrite::check_present)?;
    let before = make_room(writes, read(writes).await?).await?;
    let mut carried = Vec::with_capacity(writes.len());
    for (write, before) in writes.iter().zip(&before) {
        carried.push(write.carried(before.as_ref()).await?);
    }
    let planned = writes.iter().zip(&before).zip(&carried);
    let planned: Vec<_> =
        planned.map(|((write, before), carried)| write.plan(before.as_ref(), carried.as_deref())).collect();
    let committed = match planned.as_slice() {
        [planned] if planned.takes_steps() => {
            planned.execute_steps().await.map(|Committed { etag, read }| (vec![etag], read))
        }
        planned => commit(planned, in_the_way).await.map(|etags| (etags, None)).map_err(WriteFailure::from),
    };
    let (etags, mut read) = committed.map_err(|failure| {
        let gave_up = writes.iter().any(|write| write.write.gave_up());
        let lost_race = writes.iter().position(|write| !gave_up && write.lost_race(&failure.error));
        WriteFailure { lost_race, ..failure }
    })?;
    let written = carried.into_iter().zip(etags);
    Ok(written.map(|(unknown, etag)| WrittenEntity { etag, unknown, read: read.take() }).collect())
}

/// Removes entities that have expired, if one transaction has no room for their index rows beside those of the entities that
/// take their place. Returns what is stored then.
async fn make_room(writes: &[BegunWrite], before: Vec<Option<Before>>) -> Result<Vec<Option<Before>>> {
    let has_expired = |before: &Option<Before>| before.as_ref().is_some_and(|before| before.has_expired);
    let fits = |before: &[Option<Before>]| {
        let planned = writes.iter().zip(before).map(|(write, before)| write.plan(before.as_ref(), None));
        commit::check(&planned.collect::<Vec<_>>())
    };
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
            let begun = BegunWrite { write: self.with_new_id()?, entity };
            match attempt(slice::from_ref(&begun), InTheWay::Look).await.map_err(|failure| failure.error) {
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
    pub async fn version(&self, written: Option<ETag>) -> Result<ETag> {
        if let Some(etag) = written {
            return Ok(etag);
        }
        let (row, reason) = (self.write.row_id(self.entity.keys()), "its ETag is not known".to_owned());
        let mut error = OutcomeUnknownError::new(self.entity.verb.name(), row, reason);
        error.now = self.write.row_now(self.entity.keys()).await;
        Err(Box::new(error).into())
    }
}
