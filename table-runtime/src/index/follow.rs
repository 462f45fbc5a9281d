//! Copies in other partitions, which follow the entity.
//!
//! They are written after the commit, without conditions; then the entity's version is looked at once more. Whoever
//! finds it changed writes what the entity now says, until it holds still: so the last one to write a copy has seen the
//! entity that it copied, and only a crash leaves a copy behind.

use futures_util::future::{join, join_all};

use super::{
    schema::{EncodedRow, pending},
    transaction::Change,
    upkeep::{TRIES, Upkeep, Written, first, group},
};
use crate::{
    ETag, Error, Result, RowId,
    backend::{Action, IfMatch},
    entity::PENDING,
    layout::Holds,
    row::RowKeys,
};

impl Upkeep {
    /// Brings the copies after a commit to what it wrote. What goes wrong is left to a repair: the commit stands.
    pub(super) async fn follow(&self, change: &Change<'_>, keys: &RowKeys, committed: Option<&ETag>) {
        let (mut copies, mut includes, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for layout in self.schema.following() {
            let (old, new) = (change.old_keys(layout), change.new.and_then(|new| new.row(layout)));
            let moves = change.moves(layout);
            match self.schema.holds(layout) {
                // It is a pointer too, which the steps for those move. Who changed before what it includes follows that
                // change, or a repair does.
                Holds::Include if moves || !change.alters(&self.schema, layout) => {}
                Holds::Include => includes.extend(new.map(|new| (layout, new))),
                _ => {
                    copies.extend(new.map(|new| (layout, new)));
                    left.extend(old.filter(|_| moves).map(|old| (layout, old.clone())));
                }
            }
        }
        if copies.is_empty() && includes.is_empty() && left.is_empty() {
            return;
        }
        let followed = async {
            let (whole, parts) =
                join(self.write_copies(&copies, &left), join_all(includes.iter().map(|row| self.include(row, keys))))
                    .await;
            whole?;
            let parts: Result<Vec<_>> = parts.into_iter().collect();
            if self.version(keys).await?.as_ref() != committed {
                let wrote = copies.iter().map(|(layout, row)| (*layout, row.keys.clone())).collect();
                self.refresh(keys, wrote).await?;
                self.take_back(keys, parts?.into_iter().flatten().collect(), None).await;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = followed.await {
            tracing::warn!(table = self.schema.table(), %error, "a copy was left behind");
        }
    }

    /// Writes what a row includes. A claim is written under its version, if it is still this entity's: what others
    /// made of it is theirs.
    async fn include(&self, (layout, row): &(usize, &EncodedRow), owner: &RowKeys) -> Result<Option<Written>> {
        let (layout, keys) = (*layout, row.keys.clone());
        if !self.schema.is_unique(layout) {
            let etag = self.upsert_row(layout, row).await?;
            return Ok(Some(Written { layout, keys, etag }));
        }
        let table = self.schema.layouts[layout].table;
        let Some(claim) = self.get(table, &keys).await? else { return Ok(None) };
        if self.schema.owner(layout, &claim)? != *owner {
            return Ok(None);
        }
        let replace = Action::Replace(self.index_properties(layout, row), IfMatch::ETag(claim.etag));
        match self.backend().execute(&group(table, &keys, replace)?).await {
            Ok(etags) => Ok(first(etags).map(|etag| Written { layout, keys, etag })),
            Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the copies of an entity as it now is, until it holds still meanwhile, and deletes those that this write
    /// wrote and the entity does not have.
    pub(super) async fn refresh(&self, keys: &RowKeys, mut wrote: Vec<(usize, RowKeys)>) -> Result<()> {
        for _ in 0..TRIES {
            let found = self.committed(keys).await?;
            let row = |layout| found.as_ref().and_then(|found| found.encoded.row(layout));
            let copies = self.schema.following().filter(|layout| self.schema.holds(*layout) == Holds::Copy);
            let writes: Vec<_> = copies.filter_map(|layout| Some((layout, row(layout)?))).collect();
            wrote.retain(|(layout, keys)| row(*layout).map(|row| &row.keys) != Some(keys));
            self.write_copies(&writes, &wrote).await?;
            if self.version(keys).await? == found.as_ref().map(|found| found.row.etag.clone()) {
                return Ok(());
            }
            wrote = writes.into_iter().map(|(layout, row)| (layout, row.keys.clone())).collect();
        }
        Err(Error::ConditionNotMet(Box::new(RowId::of(self.schema.table(), keys))))
    }

    async fn write_copies(&self, writes: &[(usize, &EncodedRow)], deletions: &[(usize, RowKeys)]) -> Result<()> {
        let writes = writes.iter().map(|(layout, row)| self.upsert_row(*layout, row));
        let deletions = deletions.iter().map(|(layout, keys)| self.delete_copy(*layout, keys));
        let (written, deleted) = join(join_all(writes), join_all(deletions)).await;
        written.into_iter().try_for_each(|written| written.map(drop))?;
        deleted.into_iter().collect()
    }

    async fn delete_copy(&self, layout: usize, keys: &RowKeys) -> Result<()> {
        let group = group(self.schema.layouts[layout].table, keys, Action::Delete(IfMatch::Any))?;
        match self.backend().execute(&group).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The version of the entity that readers see.
    async fn version(&self, (partition_key, row_key): &RowKeys) -> Result<Option<ETag>> {
        let row = self.backend().get(self.schema.table(), partition_key, row_key, Some(&[PENDING])).await?;
        Ok(row.filter(|row| pending(row).is_none()).map(|row| row.etag))
    }
}
