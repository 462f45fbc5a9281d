//! Taking and giving up rows of indexes in other partitions.

use futures_util::future::join_all;

use super::{
    schema::{EncodedRow, Found},
    upkeep::{Mine, TRIES, Upkeep, Written, deletion, first, group},
    verify::same,
};
use crate::{
    ETag, Error, Properties, Result, Row, RowId, ValueRef,
    backend::{Action, IfMatch},
    entity,
    layout::Holds,
    row::RowKeys,
};

/// What a writer does about the owner of a claim that it wants.
enum Owner {
    /// It is out of the way: the claim can be replaced.
    Gone,
    /// It changed while it was looked at: look again.
    Changed,
}

impl Upkeep {
    /// Takes the row of a unique index for a value.
    ///
    /// A claim is never taken for granted: one that leads to this very entity is written anew, so that whoever read it
    /// before cannot delete it any more.
    pub(super) async fn claim(&self, layout: usize, row: &EncodedRow, me: &RowKeys, mine: Mine<'_>) -> Result<ETag> {
        let table = self.schema.layouts[layout].table;
        let properties = self.index_properties(layout, row);
        let insert = group(table, &row.keys, Action::Insert(properties.clone()))?;
        let mut lost = None;
        for _ in 0..TRIES {
            match self.backend().execute(&insert).await {
                Ok(etags) => {
                    if let Some(etag) = first(etags) {
                        return Ok(etag);
                    }
                }
                Err(Error::AlreadyExists(_)) => lost = None,
                Err(Error::OutcomeUnknown(error)) => lost = Some(error.reason),
                Err(error) => return Err(error),
            }
            let Some(claim) = self.get(table, &row.keys).await? else { continue };
            let owner = self.schema.owner(layout, &claim)?;
            if owner == *me && is_of(&claim, self) {
                return Ok(claim.etag);
            }
            if owner == *me {
                self.check_mine(me, mine).await?;
            } else {
                self.settle(layout, &row.keys, me, &owner, mine).await?;
            }
            let replace = Action::Replace(properties.clone(), IfMatch::ETag(claim.etag));
            match self.backend().execute(&group(table, &row.keys, replace)?).await {
                Ok(etags) => {
                    if let Some(etag) = first(etags) {
                        return Ok(etag);
                    }
                }
                // Another writer was faster, or the answer was lost: the claim says whose it is.
                Err(error @ (Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_))) => {
                    lost = match error {
                        Error::OutcomeUnknown(error) => Some(error.reason),
                        _ => None,
                    };
                    if let Some(claim) = self.get(table, &row.keys).await?.filter(|claim| is_of(claim, self))
                        && self.schema.owner(layout, &claim)? == *me
                    {
                        return Ok(claim.etag);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        match lost {
            Some(reason) => Err(self.no_answer(reason)),
            None => Err(self.outrun(me, mine)),
        }
    }

    /// Returns the error of a write to which other writers left no chance. It names the entity that the caller writes,
    /// never a row of an index.
    fn outrun(&self, me: &RowKeys, mine: Mine<'_>) -> Error {
        let row = Box::new(RowId::of(self.schema.table(), me));
        match mine {
            Mine::Pending => Error::Aborted(row),
            Mine::Version(_) => Error::ConditionNotMet(row),
        }
    }

    /// Returns the error of an entity that was not written, because the answers about its index rows were lost.
    pub(super) fn no_answer(&self, reason: String) -> Error {
        Error::NoAnswer { table: self.schema.table().to_owned(), operation: "write of an index row", reason }
    }

    /// Whether the entity that this write works on is still the one that it wrote or read.
    async fn check_mine(&self, me: &RowKeys, mine: Mine<'_>) -> Result<()> {
        match (mine, self.entity(me).await?) {
            (Mine::Pending, Some(found)) if found.pending == Some(self.id) => Ok(()),
            (Mine::Version(etag), Some(found)) if found.row.etag == *etag => Ok(()),
            _ => Err(self.outrun(me, mine)),
        }
    }

    /// Sees to it that the owner of a claim does not have its value, and cannot come to have it unnoticed.
    async fn settle(&self, layout: usize, at: &RowKeys, me: &RowKeys, owner: &RowKeys, mine: Mine<'_>) -> Result<()> {
        for _ in 0..TRIES {
            let Some(found) = self.entity(owner).await? else { return Ok(()) };
            let has_value = found.encoded.keys(layout) == Some(at);
            if has_value && found.pending.is_none() {
                return Err(self.violation(layout, at, me, owner));
            }
            let settled =
                if has_value { self.remove_pending(owner, &found).await? } else { self.fence(&found).await? };
            if let Owner::Gone = settled {
                return Ok(());
            }
        }
        Err(self.outrun(me, mine))
    }

    /// Clears away an insert that is slow or dead, which cannot be told apart; a slow one is told so.
    async fn remove_pending(&self, keys: &RowKeys, found: &Found) -> Result<Owner> {
        match self.backend().execute(&deletion(self.schema.table(), keys, &found.row.etag)).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Owner::Gone),
            Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => Ok(Owner::Changed),
            Err(error) => Err(error),
        }
    }

    async fn fence(&self, found: &Found) -> Result<Owner> {
        match self.touch(found).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Owner::Gone),
            Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => Ok(Owner::Changed),
            Err(error) => Err(error),
        }
    }

    /// Gives an entity a new version and changes nothing else: whoever read it before cannot commit any more.
    pub(super) async fn touch(&self, found: &Found) -> Result<Option<ETag>> {
        let keys = &found.encoded.primary().keys;
        let merge = Action::Merge(Properties::default(), IfMatch::ETag(found.row.etag.clone()));
        Ok(first(self.backend().execute(&group(self.schema.table(), keys, merge)?).await?))
    }

    /// Gives up rows that this write wrote for an entity that it did not change: those that the entity, as it now is,
    /// does not have. What it fails to clear away, a repair does.
    ///
    /// `etag` is the version of the entity that the caller holds. If the fence is what changes it, the caller holds the
    /// new one.
    pub(super) async fn take_back(&self, owner: &RowKeys, mut rows: Vec<Written>, mut etag: Option<&mut ETag>) {
        for _ in 0..TRIES {
            if rows.is_empty() {
                return;
            }
            let Ok(found) = self.entity(owner).await else { return };
            let Some(found) = found else {
                rows = self.delete_written(owner, rows).await;
                continue;
            };
            let has = |row: &Written| found.encoded.keys(row.layout) == Some(&row.keys);
            let mut rewritten = Vec::new();
            if !rows.iter().all(has) {
                match self.touch(&found).await {
                    Ok(touched) => {
                        if let (Some(etag), Some(touched)) = (&mut etag, touched)
                            && **etag == found.row.etag
                        {
                            **etag = touched;
                        }
                        let given_up = rows.extract_if(.., |row| !has(row)).collect();
                        rewritten = self.delete_written(owner, given_up).await;
                    }
                    Err(Error::NotFound(_) | Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => continue,
                    Err(_) => return,
                }
            }
            // What stays is the entity's, but what it includes may be of the write that did not come to pass.
            rows.retain(|row| self.schema.holds(row.layout) == Holds::Include);
            self.include_again(&found, &mut rows).await;
            rows.extend(rewritten);
        }
    }

    /// Writes into these rows what they include of the entity, and leaves those that are to be looked at again: a row
    /// that others have written since is theirs.
    async fn include_again(&self, found: &Found, rows: &mut Vec<Written>) {
        let mut mine = Vec::new();
        for mut row in std::mem::take(rows) {
            let Some(now) = found.encoded.row(row.layout) else { continue };
            let table = self.schema.layouts[row.layout].table;
            if let Ok(Some(stored)) = self.get(table, &row.keys).await
                && stored.etag == row.etag
                && !same(&stored.properties, &now.properties)
            {
                let replace = Action::Replace(self.index_properties(row.layout, now), IfMatch::ETag(row.etag));
                let Ok(group) = group(table, &row.keys, replace) else { continue };
                if let Ok(Some(etag)) = self.backend().execute(&group).await.map(first) {
                    row.etag = etag;
                    mine.push(row);
                }
            }
        }
        *rows = mine;
    }

    /// Gives up rows that an entity had, in the versions that were read before it was changed.
    ///
    /// A writer that did not come to its commit may have written such a row meanwhile, and left it since it was the
    /// entity's then: it is looked at like one that this write wrote.
    pub(super) async fn give_up(&self, owner: &RowKeys, rows: Vec<Written>, etag: Option<&mut ETag>) {
        let rewritten = self.delete_written(owner, rows).await;
        self.take_back(owner, rewritten, etag).await;
    }

    /// Deletes rows in the versions that are known, side by side, and gives those that were written again since for the
    /// same entity, in their versions now. A row that stays for another reason is found by a repair.
    async fn delete_written(&self, owner: &RowKeys, rows: Vec<Written>) -> Vec<Written> {
        let deletions = rows.into_iter().map(|row| async move {
            let table = self.schema.layouts[row.layout].table;
            let deleted = match self.backend().execute(&deletion(table, &row.keys, &row.etag)).await {
                Ok(_) | Err(Error::NotFound(_)) => Ok(None),
                Err(Error::ConditionNotMet(_)) => self.own_row(row.layout, &row.keys, owner).await,
                Err(error) => Err(error),
            };
            deleted.unwrap_or_else(|error| {
                tracing::warn!(table, index = self.schema.layouts[row.layout].name, %error, "an index row was left");
                None
            })
        });
        join_all(deletions).await.into_iter().flatten().collect()
    }
}

impl Upkeep {
    /// The properties of an index's row in another partition: a claim has this write's id.
    pub(super) fn index_properties(&self, layout: usize, row: &EncodedRow) -> Properties {
        let mut properties = row.properties.clone();
        if self.schema.is_unique(layout) {
            properties.push(entity::WRITE_ID, ValueRef::Guid(self.id));
        }
        properties
    }
}

/// Whether the claim is of this very write; of a repair or a backfill, which claims for many entities, for one of them.
fn is_of(claim: &Row, upkeep: &Upkeep) -> bool {
    claim.properties.get(entity::WRITE_ID) == Some(ValueRef::Guid(upkeep.id))
}
