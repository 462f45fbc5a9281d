//! Propagation of copies and included properties to other partitions.
//!
//! They are written after the commit, without conditions. Then the entity's version is read once more. A writer that
//! finds it changed writes the properties of the present entity, until the version stays the same. So the last writer of
//! a copy has read the entity that it copied, and only a crash leaves a copy behind.

use futures_util::future::{join, join_all};

use super::{
    change::Change,
    claim::IndexRows,
    schema::EncodedRow,
    write::{MAX_ATTEMPTS, Write, WrittenRow, first, single},
};
use crate::{
    ETag, Error, Result,
    backend::{Action, IfMatch},
    layout::Holds,
    row::RowKeys,
};

/// The propagation of an entity's properties.
pub(crate) struct Propagation<'a>(pub(crate) &'a Write);

impl Propagation<'_> {
    /// Writes the properties of a commit to the entity's copies. A failure is left to a repair: the commit stays valid.
    pub(crate) async fn run(&self, change: &Change<'_>, keys: &RowKeys, committed: Option<&ETag>) {
        let schema = &self.0.schema;
        let (mut copies, mut includes, mut stale) = (Vec::new(), Vec::new(), Vec::new());
        for layout in self.0.propagated() {
            let (old, new) = (change.old_keys(layout), change.new.and_then(|new| new.row(layout)));
            let moves = change.moves(layout);
            match schema.holds(layout) {
                // A row that moves was written before the commit. A writer that changed the included properties before
                // this one propagates its change, or a repair does.
                Holds::Include if moves || !change.alters(schema, layout) => {}
                Holds::Include => includes.extend(new.map(|new| (layout, new))),
                _ => {
                    copies.extend(new.map(|new| (layout, new)));
                    stale.extend(old.filter(|_| moves).map(|old| (layout, old.clone())));
                }
            }
        }
        if copies.is_empty() && includes.is_empty() && stale.is_empty() {
            return;
        }
        let propagated = async {
            let includes = includes.iter().map(|(layout, row)| self.include(*layout, row, keys));
            let (whole, parts) = join(self.write_copies(&copies, &stale), join_all(includes)).await;
            whole?;
            let parts: Result<Vec<_>> = parts.into_iter().collect();
            if self.0.committed_version(keys).await?.as_ref() != committed {
                let wrote = copies.iter().map(|(layout, row)| (*layout, row.keys.clone())).collect();
                self.until_stable(keys, wrote).await?;
                IndexRows(self.0).roll_back(keys, parts?.into_iter().flatten().collect(), None).await;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = propagated.await {
            tracing::warn!(table = schema.table(), %error, "a copy was left behind");
        }
    }

    /// Writes the included properties of a row. A claim is written under its version, and only if it still points to this
    /// entity.
    async fn include(&self, layout: usize, row: &EncodedRow, owner: &RowKeys) -> Result<Option<WrittenRow>> {
        let (schema, keys) = (&self.0.schema, row.keys.clone());
        if !schema.is_unique(layout) {
            let etag = IndexRows(self.0).upsert(layout, row).await?;
            return Ok(Some(WrittenRow { layout, keys, etag }));
        }
        let table = schema.layouts[layout].table;
        let Some(claim) = self.0.get(table, &keys).await? else { return Ok(None) };
        if schema.owner(layout, &claim)? != *owner {
            return Ok(None);
        }
        let replace = Action::Replace(self.0.index_properties(layout, row), IfMatch::ETag(claim.etag));
        match self.0.backend().execute(&single(table, &keys, replace)?).await {
            Ok(etags) => Ok(first(etags).map(|etag| WrittenRow { layout, keys, etag })),
            Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the copies of the present entity until its version stays the same, and deletes those of `wrote` that the
    /// entity does not have.
    pub(crate) async fn until_stable(&self, keys: &RowKeys, mut wrote: Vec<(usize, RowKeys)>) -> Result<()> {
        let schema = &self.0.schema;
        for _ in 0..MAX_ATTEMPTS {
            let found = self.0.committed(keys).await?;
            let row = |layout| found.as_ref().and_then(|found| found.encoded.row(layout));
            let copies = schema.propagated().filter(|layout| schema.holds(*layout) == Holds::Copy);
            let writes: Vec<_> = copies.filter_map(|layout| Some((layout, row(layout)?))).collect();
            wrote.retain(|(layout, keys)| row(*layout).map(|row| &row.keys) != Some(keys));
            self.write_copies(&writes, &wrote).await?;
            if self.0.committed_version(keys).await? == found.as_ref().map(|found| found.row.etag.clone()) {
                return Ok(());
            }
            wrote = writes.into_iter().map(|(layout, row)| (layout, row.keys.clone())).collect();
        }
        Err(Error::ConditionNotMet(Box::new(self.0.row_id(keys))))
    }

    async fn write_copies(&self, writes: &[(usize, &EncodedRow)], deletions: &[(usize, RowKeys)]) -> Result<()> {
        let rows = IndexRows(self.0);
        let writes = writes.iter().map(|(layout, row)| rows.upsert(*layout, row));
        let deletions = deletions.iter().map(|(layout, keys)| self.delete_copy(*layout, keys));
        let (written, deleted) = join(join_all(writes), join_all(deletions)).await;
        written.into_iter().try_for_each(|written| written.map(drop))?;
        deleted.into_iter().collect()
    }

    async fn delete_copy(&self, layout: usize, keys: &RowKeys) -> Result<()> {
        let group = single(self.0.schema.layouts[layout].table, keys, Action::Delete(IfMatch::Any))?;
        match self.0.backend().execute(&group).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
