//! Propagation of copies and included properties to other partitions.
//!
//! They are written after the commit, without conditions. Then the entity's version is read once more. A writer that
//! finds it changed writes the properties of the present entity, until the version stays the same. So the last writer of
//! a copy has read the entity that it copied, and only a crash leaves a copy behind. A reindex changes no entity: it writes
//! copies before its fence, which shows that they are those of the present version.

use std::mem;

use futures_util::future::join;
use table_model::{Holds, unstable::layout::LayoutExt};
use table_store::{
    ETag, Error, Result,
    backend::{Action, IfMatch},
    unstable::RowKeys,
};

use super::{
    change::Change,
    schema::EncodedRow,
    write::{Write, WriteAnswer, WrittenRow, single},
};
use crate::client::pacing;

impl Write {
    /// Writes the properties of a commit to the entity's copies. A failure is left to a repair: the commit stays valid.
    pub(super) async fn propagate(&self, change: Change<'_>, keys: &RowKeys, committed: Option<&ETag>) {
        let schema = &self.schema;
        let (mut copies, mut altered, mut includes, mut stale) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for layout in self.propagated() {
            if schema.holds(layout) == Holds::Include {
                // A row that moves was written before the commit. A writer that changed the included properties before
                // this one propagates its change, or a repair does.
                includes.extend(change.altered(schema, layout));
            } else {
                copies.extend(change.added(layout));
                altered.extend(change.altered(schema, layout));
                stale.extend(change.removed(layout).map(|old| (layout, old.keys.clone())));
            }
        }
        if copies.is_empty() && altered.is_empty() && includes.is_empty() && stale.is_empty() {
            return;
        }
        let propagated = async {
            // A copy that has an element before its own is not returned, so the row of that element is written first, and
            // deleted last.
            let mut wrote = written_keys(&copies);
            wrote.extend(written_keys(&altered));
            if self.propagated().any(|layout| schema.layouts[layout].each().is_some()) {
                self.write_copies(&mem::take(&mut copies), &[]).await?;
                self.write_copies(&mem::take(&mut altered), &[]).await?;
            }
            copies.append(&mut altered);
            let includes = includes.iter().map(|row| self.propagate_included(row, keys));
            let (whole, parts) = join(self.write_copies(&copies, &stale), pacing::in_waves(includes)).await;
            whole?;
            let parts: Result<Vec<_>> = parts.into_iter().collect();
            if self.committed_version(keys).await?.as_ref() != committed {
                self.propagate_until_stable(keys, wrote).await?;
                self.roll_back(keys, parts?.into_iter().flatten().collect(), &mut None).await;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = propagated.await {
            tracing::warn!(
                target: "table_runtime::index::propagate",
                table = schema.table(),
                %error,
                "a copy was left behind"
            );
        }
    }

    /// Writes the included properties of a row. A claim is written under its version, and only if it still points to this
    /// entity.
    async fn propagate_included(&self, row: &EncodedRow, owner: &RowKeys) -> Result<Option<WrittenRow>> {
        let (schema, layout, keys) = (&self.schema, row.layout, row.keys.clone());
        if !schema.is_unique(layout) {
            let etag = self.upsert_row(row).await?;
            return Ok(Some(WrittenRow { layout, keys, etag }));
        }
        let table = &schema.layouts[layout].table;
        let Some(claim) = self.get(table, &keys).await? else { return Ok(None) };
        if schema.owner(layout, claim.as_ref())? != *owner {
            return Ok(None);
        }
        match self.send(&single(table.clone(), &keys, self.put_row(row, Some(&claim.etag)))?).await? {
            WriteAnswer::Done(etag) => Ok(etag.map(|etag| WrittenRow { layout, keys, etag })),
            WriteAnswer::LostRace(_) => Ok(None),
            WriteAnswer::Lost(error) => Err(error.into()),
        }
    }

    /// Writes the copies of the present entity until its version stays the same, and deletes those of `wrote` that the
    /// entity does not have.
    async fn propagate_until_stable(&self, keys: &RowKeys, mut wrote: Vec<(usize, RowKeys)>) -> Result<()> {
        let schema = &self.schema;
        let mut delays = pacing::delays();
        loop {
            let found = self.committed(keys).await?;
            let (rows, version) = match found {
                Some(found) => (found.encoded.index_rows, Some(found.row.etag)),
                None => (Vec::new(), None),
            };
            let copies = schema.propagated().filter(|layout| schema.holds(*layout) == Holds::Copy);
            let copies =
                copies.flat_map(|layout| rows.iter().filter(move |row| row.layout == layout)).collect::<Vec<_>>();
            wrote.retain(|(layout, keys)| !copies.iter().any(|copy| copy.layout == *layout && copy.keys == *keys));
            self.write_copies(&copies, &wrote).await?;
            if self.committed_version(keys).await? == version {
                return Ok(());
            }
            wrote = written_keys(&copies);
            self.pause(&mut delays, Error::ConditionNotMet(self.row_id(keys).into())).await?;
        }
    }

    async fn write_copies(&self, copies: &[&EncodedRow], stale: &[(usize, RowKeys)]) -> Result<()> {
        let writes = copies.iter().map(|row| self.upsert_row(row));
        let deletions = stale.iter().map(|(layout, keys)| self.delete_copy(*layout, keys));
        let (written, deleted) = join(pacing::in_waves(writes), pacing::in_waves(deletions)).await;
        written.into_iter().try_for_each(|written| written.map(drop))?;
        deleted.into_iter().collect()
    }

    async fn delete_copy(&self, layout: usize, keys: &RowKeys) -> Result<()> {
        let group = single(self.schema.layouts[layout].table.clone(), keys, Action::Delete(IfMatch::Any))?;
        match self.send(&group).await? {
            WriteAnswer::Done(_) | WriteAnswer::LostRace(_) => Ok(()),
            WriteAnswer::Lost(error) => Err(error.into()),
        }
    }
}

fn written_keys(rows: &[&EncodedRow]) -> Vec<(usize, RowKeys)> {
    rows.iter().map(|row| (row.layout, row.keys.clone())).collect()
}
