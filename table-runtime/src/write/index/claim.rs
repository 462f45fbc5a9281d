//! Index rows in other partitions: written before a commit, rolled back, released.

use std::time::Instant;

use table_model::{
    Holds,
    unstable::{entity::WRITE_ID, lifecycle::Standing},
};
use table_store::{ETag, Error, Result, Row, ValueRef, unstable::RowKeys};

use super::{
    entity_write::EntityWrite,
    members::TransactionMember,
    schema::{EncodedRow, FoundEntity},
    write::{Write, WriteAnswer, WrittenRow, single},
};
use crate::{client::pacing, write::RowHasher};

/// An index row, and the position of the member that wants it or has it.
pub type OfMember<R> = (usize, R);

/// Writes these rows of the members of a transaction, several at the same time.
///
/// # Errors
/// The first error, with the rows that were written all the same. A unique violation takes precedence, because it
/// says more than any other error.
pub async fn write_rows(
    members: &[TransactionMember<'_>],
    rows: &[OfMember<&EncodedRow>],
) -> Result<Vec<OfMember<WrittenRow>>, (Error, Vec<OfMember<WrittenRow>>)> {
    let writes = rows.iter().map(|(at, row)| async move {
        let write = members[*at].planned.write;
        let etag = if write.schema.is_unique(row.layout) {
            write.claim(row, &members[*at], members).await?
        } else {
            write.upsert_row(row).await?
        };
        Ok((*at, WrittenRow { layout: row.layout, keys: row.keys.clone(), etag }))
    });
    let (mut written, mut failed) = (Vec::new(), None);
    for result in pacing::in_waves(writes).await {
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

impl Write {
    /// Writes a row of an index that is not unique. A second write of the same row does no harm.
    pub(super) async fn upsert_row(&self, row: &EncodedRow) -> Result<ETag> {
        let table = &self.schema.layouts[row.layout].table;
        let group = single(table.clone(), &row.keys, self.put_row(row, None))?;
        let mut delays = pacing::delays();
        loop {
            match self.send(&group).await? {
                WriteAnswer::Done(etag) => return etag.ok_or_else(|| self.no_etag("upsert", &row.keys)),
                WriteAnswer::LostRace(error) => return Err(error),
                WriteAnswer::Lost(error) => self.pause(&mut delays, self.no_answer(*error)).await?,
            }
        }
    }

    /// Claims a value of a unique index: writes the row of the value with this write's id.
    ///
    /// A claim that already points to this entity is written again under a new version, so that no writer that read it
    /// before can delete it.
    async fn claim(
        &self,
        row: &EncodedRow,
        member: &TransactionMember<'_>,
        members: &[TransactionMember<'_>],
    ) -> Result<ETag> {
        let entity = member.planned.keys;
        let table = &self.schema.layouts[row.layout].table;
        let insert = single(table.clone(), &row.keys, self.put_row(row, None))?;
        let mut delays = pacing::delays();
        loop {
            let mut answer = self.send(&insert).await?;
            // If the value is not reserved now, the claim shows who has it: also this write, if an answer was lost.
            if !matches!(answer, WriteAnswer::Done(Some(_)))
                && let Some(claim) = self.get(table, &row.keys).await?
            {
                let owner = self.schema.owner(row.layout, claim.as_ref())?;
                if owner == *entity && self.has_own_id(&claim) {
                    return Ok(claim.etag);
                }
                if owner == *entity {
                    member.check().await?;
                } else if self.evict(row, &owner, member, members).await? {
                    continue;
                }
                answer = self.send(&single(table.clone(), &row.keys, self.put_row(row, Some(&claim.etag)))?).await?;
            }
            if let WriteAnswer::Done(Some(etag)) = answer {
                return Ok(etag);
            }
            let error = match answer.lost() {
                Some(lost) => self.no_answer(*lost),
                None => member.lost_race().await,
            };
            self.pause(&mut delays, error).await?;
        }
    }

    /// Makes sure that the owner of a claim neither has its value nor can commit it later: deletes a pending insert of
    /// the value, unless its writer goes on when it is given time, and an entity with the value that has expired; fences an
    /// entity without the value. Returns true if the deletion of an expired owner has released the claim too.
    ///
    /// # Errors
    /// A committed owner with the value is a unique violation, unless it has expired and is no member itself.
    async fn evict(
        &self,
        claim: &EncodedRow,
        owner: &RowKeys,
        wanting: &TransactionMember<'_>,
        members: &[TransactionMember<'_>],
    ) -> Result<bool> {
        let member = members.iter().find(|member| member.planned.keys == owner);
        let (mut delays, mut given_time) = (pacing::delays(), None);
        loop {
            let asked = Instant::now();
            let Some(found) = self.entity(owner).await? else { return Ok(false) };
            let has_value = found.encoded.has(claim.layout, &claim.keys);
            if has_value && found.pending.is_some() && found.pending != given_time {
                if given_time.is_some() {
                    self.pause(&mut delays, wanting.lost_race().await).await?;
                }
                pacing::give_time(self.backend(), asked).await;
                given_time = found.pending;
                continue;
            }
            if has_value && found.pending.is_none() {
                match found.standing(&self.schema, self.backend().earliest())? {
                    Standing::Expired if self.takes_over && member.is_none() => {
                        if self.expire(EntityWrite::expire(found)).await? {
                            return Ok(true);
                        }
                        self.pause(&mut delays, wanting.lost_race().await).await?;
                        continue;
                    }
                    standing => {
                        return Err(self.violation(claim.layout, &claim.keys, wanting.planned.keys, (owner, standing)));
                    }
                }
            }
            if let Some(member) = member.filter(|_| !has_value)
                && member.fence().await?
            {
                return Ok(false);
            }
            let answer = if has_value {
                self.delete_row(self.schema.table().into(), owner, &found.row.etag).await?
            } else {
                self.fence(&found).await?
            };
            if answer.is_settled() {
                return Ok(false);
            }
            self.pause(&mut delays, wanting.lost_race().await).await?;
        }
    }

    /// Fences an entity, so that no writer that read it before can commit. If that fails, a repair finds the rows that are
    /// left.
    pub(super) async fn fence_present(&self, keys: &RowKeys) {
        let mut delays = pacing::delays();
        while let Ok(Some(found)) = self.committed(keys).await
            && self.fence(&found).await.is_ok_and(|answer| !answer.is_settled())
            && delays.wait(self.backend()).await
        {}
    }

    /// Rolls back rows that this write wrote for an entity that it did not commit: deletes those that the entity does
    /// not have. A row that cannot be deleted is left to a repair.
    ///
    /// `version` is the version of the entity that the caller holds. If a fence changes that version, the caller gets
    /// the new one.
    pub async fn roll_back(&self, owner: &RowKeys, mut rows: Vec<WrittenRow>, version: &mut Option<ETag>) {
        let mut delays = pacing::delays();
        while !rows.is_empty() {
            let Ok(found) = self.entity(owner).await else { return };
            rows = match found {
                None => self.delete_if_unchanged(owner, rows).await,
                Some(found) => match self.roll_back_from(&found, rows, version).await {
                    Ok(rows) => rows,
                    Err(_) => return,
                },
            };
            if !rows.is_empty() && !delays.wait(self.backend()).await {
                return;
            }
        }
    }

    /// Rolls back the rows that this entity does not have. Returns the rows that have to be looked at again.
    async fn roll_back_from(
        &self,
        found: &FoundEntity,
        mut rows: Vec<WrittenRow>,
        version: &mut Option<ETag>,
    ) -> Result<Vec<WrittenRow>> {
        let has = |row: &WrittenRow| found.encoded.has(row.layout, &row.keys);
        let mut rewritten = Vec::new();
        if !rows.iter().all(has) {
            let WriteAnswer::Done(fenced) = self.fence(found).await? else { return Ok(rows) };
            if fenced.is_some() && version.as_ref() == Some(&found.row.etag) {
                *version = fenced;
            }
            let stale = rows.extract_if(.., |row| !has(row)).collect();
            rewritten = self.delete_if_unchanged(&found.encoded.primary.keys, stale).await;
        }
        // The other rows belong to the entity, but their properties may be those of the failed write.
        let holds_properties = |row: &WrittenRow| matches!(self.schema.holds(row.layout), Holds::Include | Holds::Copy);
        for row in rows.into_iter().filter(holds_properties) {
            rewritten.extend(self.restore_properties(found, row).await);
        }
        Ok(rewritten)
    }

    /// Writes the entity's present properties into a row, and returns the row if it has to be looked at again. A row that
    /// another writer has written since is left alone.
    async fn restore_properties(&self, found: &FoundEntity, row: WrittenRow) -> Option<WrittenRow> {
        let table = &self.schema.layouts[row.layout].table;
        let present = found.encoded.row(row.layout, &row.keys)?;
        let stored = self.get(table, &row.keys).await.ok()??;
        if stored.etag != row.etag {
            return None;
        }
        let (mut hasher, owner) = (RowHasher::default(), &found.encoded.primary.keys);
        let hash = self.schema.hash_stored(&mut hasher, row.layout, stored.as_ref(), owner);
        if hash == self.schema.hash_expected(&mut hasher, present, owner) {
            return None;
        }
        match self.send(&single(table.clone(), &row.keys, self.put_row(present, Some(&row.etag))).ok()?).await {
            Ok(WriteAnswer::Done(Some(etag))) => Some(WrittenRow { etag, ..row }),
            _ => None,
        }
    }

    /// Deletes a row that its entity does not have, in the version in which it was found, after a fence. A row that was
    /// written again meanwhile is left to its writer.
    pub async fn remove_stale(&self, owner: &RowKeys, row: &WrittenRow) -> Result<()> {
        let table = &self.schema.layouts[row.layout].table;
        let mut delays = pacing::delays();
        loop {
            let found = self.entity(owner).await?;
            let stored = self.get(table, &row.keys).await?;
            let has = |found: &FoundEntity| found.encoded.has(row.layout, &row.keys);
            if stored.is_none_or(|stored| stored.etag != row.etag) || found.as_ref().is_some_and(has) {
                return Ok(());
            }
            let Some(found) = found else { break };
            match self.fence(&found).await? {
                WriteAnswer::Done(_) => break,
                WriteAnswer::LostRace(error) => self.pause(&mut delays, error).await?,
                WriteAnswer::Lost(error) => self.pause(&mut delays, error.into()).await?,
            }
        }
        self.delete_row(table.clone(), &row.keys, &row.etag).await.map(drop)
    }

    /// Reads the rows that the entity has in the indexes, in their present versions. Leaves out those that point to
    /// another entity.
    pub async fn own_rows(&self, rows: &[(usize, &RowKeys)], owner: &RowKeys) -> Result<Vec<WrittenRow>> {
        let reads = rows.iter().map(|(layout, keys)| self.own_row(*layout, keys, owner));
        let rows: Result<Vec<_>> = pacing::in_waves(reads).await.into_iter().collect();
        Ok(rows?.into_iter().flatten().collect())
    }

    /// Reads a row of an index in its present version; `None` if it points to another entity.
    async fn own_row(&self, layout: usize, keys: &RowKeys, owner: &RowKeys) -> Result<Option<WrittenRow>> {
        let Some(row) = self.get(&self.schema.layouts[layout].table, keys).await? else { return Ok(None) };
        let is_own = self.schema.owner(layout, row.as_ref())? == *owner;
        Ok(is_own.then_some(WrittenRow { layout, keys: keys.clone(), etag: row.etag }))
    }

    /// Releases rows that an entity had before a commit: deletes them in the versions that were read before it.
    ///
    /// A writer that failed may have written such a row again meanwhile, and left it because it belonged to the entity
    /// then. That row is rolled back like one of this write.
    pub async fn release(&self, owner: &RowKeys, rows: Vec<WrittenRow>, version: &mut Option<ETag>) {
        let rewritten = self.delete_if_unchanged(owner, rows).await;
        self.roll_back(owner, rewritten, version).await;
    }

    /// Deletes rows in their known versions, concurrently. Returns the rows that were written again since for the same
    /// entity, in their present versions. A row that stays for another reason is left to a repair.
    async fn delete_if_unchanged(&self, owner: &RowKeys, rows: Vec<WrittenRow>) -> Vec<WrittenRow> {
        let deletions = rows.into_iter().map(|row| async move {
            let WrittenRow { layout, keys, etag } = &row;
            let info = &self.schema.layouts[*layout];
            let deleted = match self.delete_row(info.table.clone(), keys, etag).await {
                Ok(WriteAnswer::LostRace(Error::ConditionNotMet(_))) => self.own_row(*layout, keys, owner).await,
                Ok(WriteAnswer::Lost(error)) => Err(error.into()),
                deleted => deleted.map(|_| None),
            };
            deleted.unwrap_or_else(|error| {
                tracing::warn!(
                    target: "table_runtime::index::claim",
                    table = &*info.table,
                    index = &*info.name,
                    %error,
                    "an index row was left"
                );
                None
            })
        });
        pacing::in_waves(deletions).await.into_iter().flatten().collect()
    }

    fn has_own_id(&self, claim: &Row) -> bool {
        claim.properties.get(WRITE_ID) == Some(ValueRef::Guid(self.id))
    }
}
