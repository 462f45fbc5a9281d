//! Rows of cross-partition indexes: claiming a unique value, rolling a write back, releasing rows after a commit.

use std::mem;

use futures_util::future::join_all;

use super::{
    schema::{Encoded, EncodedRow, FoundEntity},
    write::{MAX_ATTEMPTS, Write, WrittenRow, deletion, first, single},
};
use crate::{
    ETag, Error, Result, Row, ValueRef,
    backend::{Action, IfMatch},
    entity::WRITE_ID,
    layout::Holds,
    pacing,
    row::RowKeys,
};

/// The index rows that a write has in other partitions.
pub(crate) struct IndexRows<'a>(pub(crate) &'a Write);

/// The condition under which a writer may still commit its entity.
#[derive(Clone, Copy)]
pub(crate) enum Precondition<'a> {
    /// The entity is pending with this write's id.
    Pending,
    /// The entity has the version that was read.
    Version(&'a ETag),
}

/// The outcome of an attempt to fence or delete the owner of a claim.
enum Eviction {
    /// The owner cannot commit the value any more.
    Done,
    /// The owner changed meanwhile.
    Changed,
}

impl IndexRows<'_> {
    /// Writes the entity's rows in these indexes concurrently.
    ///
    /// # Errors
    /// The first error, with the rows that were written all the same. A unique violation takes precedence, because it
    /// says more than any other error.
    pub(crate) async fn write(
        &self,
        new: &Encoded,
        layouts: &[usize],
        precondition: Precondition<'_>,
    ) -> Result<Vec<WrittenRow>, (Error, Vec<WrittenRow>)> {
        let owner = &new.primary().keys;
        let rows = layouts.iter().filter_map(|layout| Some((*layout, new.row(*layout)?)));
        let writes = rows.map(|(layout, row)| async move {
            let etag = if self.0.schema.is_unique(layout) {
                self.claim(layout, row, owner, precondition).await?
            } else {
                self.upsert(layout, row).await?
            };
            Ok(WrittenRow { layout, keys: row.keys.clone(), etag })
        });
        let (mut written, mut failed) = (Vec::new(), None);
        for result in join_all(writes).await {
            match result {
                Ok(row) => written.push(row),
                Err(error @ Error::UniqueViolation(_)) => failed = Some(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => Ok(written),
            Some(error) => Err((error, written)),
        }
    }

    /// Writes a row of an index that is not unique. A second write of the same row does no harm.
    pub(super) async fn upsert(&self, layout: usize, row: &EncodedRow) -> Result<ETag> {
        let table = self.0.schema.layouts[layout].table;
        let group = single(table, &row.keys, Action::Upsert(row.properties.clone()))?;
        let mut lost = 0;
        loop {
            match self.0.backend().execute(&group).await {
                Ok(etags) => return first(etags).ok_or_else(|| self.0.no_etag("upsert", &row.keys)),
                Err(Error::OutcomeUnknown(error)) => {
                    lost += 1;
                    if lost == MAX_ATTEMPTS {
                        return Err(self.0.no_answer(error.reason));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Claims a value of a unique index: writes the row of the value with this write's id.
    ///
    /// A claim that already points to this entity is written again under a new version, so that no writer that read it
    /// before can delete it.
    async fn claim(
        &self,
        layout: usize,
        row: &EncodedRow,
        entity: &RowKeys,
        precondition: Precondition<'_>,
    ) -> Result<ETag> {
        let table = self.0.schema.layouts[layout].table;
        let properties = self.0.index_properties(layout, row);
        let insert = single(table, &row.keys, Action::Insert(properties.clone()))?;
        let mut lost = None;
        for _ in 0..MAX_ATTEMPTS {
            match self.0.backend().execute(&insert).await {
                Ok(etags) => {
                    if let Some(etag) = first(etags) {
                        return Ok(etag);
                    }
                }
                Err(Error::AlreadyExists(_)) => lost = None,
                Err(Error::OutcomeUnknown(error)) => lost = Some(error.reason),
                Err(error) => return Err(error),
            }
            let Some(claim) = self.0.get(table, &row.keys).await? else { continue };
            let owner = self.0.schema.owner(layout, &claim)?;
            if owner == *entity && self.has_own_id(&claim) {
                return Ok(claim.etag);
            }
            if owner == *entity {
                self.check(entity, precondition).await?;
            } else {
                self.evict(layout, &row.keys, entity, &owner, precondition).await?;
            }
            let replace = Action::Replace(properties.clone(), IfMatch::ETag(claim.etag));
            match self.0.backend().execute(&single(table, &row.keys, replace)?).await {
                Ok(etags) => {
                    if let Some(etag) = first(etags) {
                        return Ok(etag);
                    }
                }
                // This write lost a race, or its answer was lost. The claim shows which.
                Err(error @ (Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_))) => {
                    lost = match error {
                        Error::OutcomeUnknown(error) => Some(error.reason),
                        _ => None,
                    };
                    if let Some(claim) = self.0.get(table, &row.keys).await?.filter(|claim| self.has_own_id(claim))
                        && self.0.schema.owner(layout, &claim)? == *entity
                    {
                        return Ok(claim.etag);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        match lost {
            Some(reason) => Err(self.0.no_answer(reason)),
            None => Err(self.lost_race(entity, precondition)),
        }
    }

    /// Returns the error of a write that lost too many races. It names the entity that the caller writes, never an index
    /// row.
    fn lost_race(&self, entity: &RowKeys, precondition: Precondition<'_>) -> Error {
        let row = Box::new(self.0.row_id(entity));
        match precondition {
            Precondition::Pending => Error::Aborted(row),
            Precondition::Version(_) => Error::ConditionNotMet(row),
        }
    }

    /// Checks that this write may still commit its entity.
    async fn check(&self, entity: &RowKeys, precondition: Precondition<'_>) -> Result<()> {
        match (precondition, self.0.entity(entity).await?) {
            (Precondition::Pending, Some(found)) if found.pending == Some(self.0.id) => Ok(()),
            (Precondition::Version(etag), Some(found)) if found.row.etag == *etag => Ok(()),
            _ => Err(self.lost_race(entity, precondition)),
        }
    }

    /// Makes sure that the owner of a claim neither has its value nor can commit it later.
    ///
    /// # Errors
    /// A committed owner with the value is a unique violation.
    async fn evict(
        &self,
        layout: usize,
        at: &RowKeys,
        entity: &RowKeys,
        owner: &RowKeys,
        precondition: Precondition<'_>,
    ) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(found) = self.0.entity(owner).await? else { return Ok(()) };
            let has_value = found.encoded.keys(layout) == Some(at);
            if has_value && found.pending.is_none() {
                return Err(self.0.violation(layout, at, entity, owner));
            }
            let evicted =
                if has_value { self.delete_pending(owner, &found).await? } else { self.fence(&found).await? };
            if let Eviction::Done = evicted {
                return Ok(());
            }
        }
        Err(self.lost_race(entity, precondition))
    }

    /// Deletes a pending insert. Its writer is slow or dead, which looks alike; a slow one gets [`Error::Aborted`].
    async fn delete_pending(&self, keys: &RowKeys, found: &FoundEntity) -> Result<Eviction> {
        let delete = deletion(self.0.schema.table().into(), keys, &found.row.etag);
        Self::eviction(self.0.backend().execute(&delete).await.map(drop))
    }

    async fn fence(&self, found: &FoundEntity) -> Result<Eviction> {
        Self::eviction(self.0.fence(found).await.map(drop))
    }

    fn eviction(result: Result<()>) -> Result<Eviction> {
        match result {
            Ok(()) | Err(Error::NotFound(_)) => Ok(Eviction::Done),
            Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => Ok(Eviction::Changed),
            Err(error) => Err(error),
        }
    }

    /// Rolls back rows that this write wrote for an entity that it did not commit: deletes those that the entity does
    /// not have. A row that cannot be deleted is left to a repair.
    ///
    /// `etag` is the version of the entity that the caller holds. If the fence changes that version, the caller gets the
    /// new one.
    pub(crate) async fn roll_back(&self, owner: &RowKeys, mut rows: Vec<WrittenRow>, mut etag: Option<&mut ETag>) {
        for _ in 0..MAX_ATTEMPTS {
            if rows.is_empty() {
                return;
            }
            let Ok(found) = self.0.entity(owner).await else { return };
            let Some(found) = found else {
                rows = self.delete_if_unchanged(owner, rows).await;
                continue;
            };
            let has = |row: &WrittenRow| found.encoded.keys(row.layout) == Some(&row.keys);
            let mut written_again = Vec::new();
            if !rows.iter().all(has) {
                match self.0.fence(&found).await {
                    Ok(fenced) => {
                        if let (Some(etag), Some(fenced)) = (&mut etag, fenced)
                            && **etag == found.row.etag
                        {
                            **etag = fenced;
                        }
                        let stale = rows.extract_if(.., |row| !has(row)).collect();
                        written_again = self.delete_if_unchanged(owner, stale).await;
                    }
                    Err(Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => continue,
                    Err(_) => return,
                }
            }
            // The other rows belong to the entity, but their included properties may be those of the failed write.
            rows.retain(|row| self.0.schema.holds(row.layout) == Holds::Include);
            self.restore_included(&found, &mut rows).await;
            rows.extend(written_again);
        }
    }

    /// Deletes a row that its entity does not have, in the version in which it was found, after a fence. A row that was
    /// written again meanwhile is left to its writer.
    pub(crate) async fn remove_stale(&self, owner: &RowKeys, row: &WrittenRow) -> Result<()> {
        let mut delays = pacing::delays();
        loop {
            let found = self.0.entity(owner).await?;
            let now = self.0.get(self.0.schema.layouts[row.layout].table, &row.keys).await?;
            let has = |found: &FoundEntity| found.encoded.keys(row.layout) == Some(&row.keys);
            if now.is_none_or(|now| now.etag != row.etag) || found.as_ref().is_some_and(has) {
                return Ok(());
            }
            match found {
                None => break,
                Some(found) => match self.0.fence(&found).await {
                    Ok(_) => break,
                    Err(error @ (Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_))) => {
                        self.0.pause(&mut delays, error).await?;
                    }
                    Err(error) => return Err(error),
                },
            }
        }
        self.0.delete_row(self.0.schema.layouts[row.layout].table.into(), &row.keys, &row.etag).await
    }

    /// Writes the entity's included properties into these rows, and keeps the rows that have to be read again. A row
    /// that another writer has written since is left alone.
    async fn restore_included(&self, found: &FoundEntity, rows: &mut Vec<WrittenRow>) {
        let mut restored = Vec::new();
        for mut row in mem::take(rows) {
            let Some(now) = found.encoded.row(row.layout) else { continue };
            let table = self.0.schema.layouts[row.layout].table;
            if let Ok(Some(stored)) = self.0.get(table, &row.keys).await
                && stored.etag == row.etag
                && !self.0.schema.has_properties(row.layout, &stored.properties, &now.properties)
            {
                let replace = Action::Replace(self.0.index_properties(row.layout, now), IfMatch::ETag(row.etag));
                let Ok(group) = single(table, &row.keys, replace) else { continue };
                if let Ok(Some(etag)) = self.0.backend().execute(&group).await.map(first) {
                    row.etag = etag;
                    restored.push(row);
                }
            }
        }
        *rows = restored;
    }

    /// Releases rows that an entity had before a commit: deletes them in the versions that were read before it.
    ///
    /// A writer that failed may have written such a row again meanwhile, and left it because it belonged to the entity
    /// then. That row is rolled back like one of this write.
    pub(crate) async fn release(&self, owner: &RowKeys, rows: Vec<WrittenRow>, etag: Option<&mut ETag>) {
        let written_again = self.delete_if_unchanged(owner, rows).await;
        self.roll_back(owner, written_again, etag).await;
    }

    /// Deletes rows in their known versions, concurrently. Returns the rows that were written again since for the same
    /// entity, in their present versions. A row that stays for another reason is left to a repair.
    async fn delete_if_unchanged(&self, owner: &RowKeys, rows: Vec<WrittenRow>) -> Vec<WrittenRow> {
        let deletions = rows.into_iter().map(|row| async move {
            let table = self.0.schema.layouts[row.layout].table;
            let deleted = match self.0.backend().execute(&deletion(table.into(), &row.keys, &row.etag)).await {
                Ok(_) | Err(Error::NotFound(_)) => Ok(None),
                Err(Error::ConditionNotMet(_)) => self.0.own_row(row.layout, &row.keys, owner).await,
                Err(error) => Err(error),
            };
            deleted.unwrap_or_else(|error| {
                tracing::warn!(table, index = self.0.schema.layouts[row.layout].name, %error, "an index row was left");
                None
            })
        });
        join_all(deletions).await.into_iter().flatten().collect()
    }

    fn has_own_id(&self, claim: &Row) -> bool {
        claim.properties.get(WRITE_ID) == Some(ValueRef::Guid(self.0.id))
    }
}
