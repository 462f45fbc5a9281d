//! Repair: fixing the problems that crashes left, with the steps of writers.

use std::{collections::HashSet, fmt, future::IntoFuture};

use table_store::{
    ETag, Result,
    backend::BoxFuture,
    unstable::{RowKeys, observe::observed},
};

use super::{
    compare::IndexComparison,
    finding::Finding,
    hashes::MEMORY,
    progress::{Progress, ProgressCallback},
    reindex::reindex,
    verify::LocatedFinding,
};
use crate::{
    client::{pacing, tables::Tables},
    model::entity::TableEntity,
    write::index::{Schema, Write, WrittenRow},
};

/// A repair, which runs when it is awaited: see [`Tables::repair`].
#[must_use = "a repair does nothing until it is awaited"]
pub struct Repair<'a> {
    write: Result<Write>,
    comparison: IndexComparison,
    on_progress: ProgressCallback<'a>,
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// Number of entities that were read.
    pub entities: usize,
    /// The problems that were fixed.
    pub fixed: Vec<Finding>,
    /// The problems that are left. Two entities with one value of a unique index, and rows that belong to no entity or
    /// cannot be read, need a decision of a person. A row that the store did not delete is tried again by the next
    /// repair.
    pub left: Vec<Finding>,
}

impl<'a> Repair<'a> {
    /// Continues an earlier repair of the same entity at its [`Progress::cursor`]. The rows of the same pass are read
    /// again, to compare them with the rest. They are neither examined nor counted again.
    ///
    /// # Errors
    /// Returns [`Error::Cursor`](crate::Error::Cursor) for a text that is not such a cursor, and for a cursor from before a
    /// change of the entity's keys or indexes.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        self.comparison.resume(cursor)?;
        Ok(self)
    }

    /// Sets the number of bytes for the hashes of index rows: 64 MiB if it is not set. Less memory takes more passes:
    /// see [`Tables::verify`].
    pub fn memory(mut self, bytes: usize) -> Self {
        self.comparison.set_memory(bytes);
        self
    }

    /// Reports the progress after each page.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }
}

impl<'a> IntoFuture for Repair<'a> {
    type Output = Result<Repaired>;
    type IntoFuture = BoxFuture<'a, Result<Repaired>>;

    fn into_future(self) -> Self::IntoFuture {
        let running = self.write.as_ref().ok().and_then(|write| write.begin("repair"));
        Box::pin(observed(running, run(self)))
    }
}

async fn run(Repair { write, mut comparison, mut on_progress }: Repair<'_>) -> Result<Repaired> {
    let write = write?;
    let (mut repaired, mut progress) = (Repaired::default(), Progress::default());
    while let Some(page) = comparison.next(&write).await? {
        progress.add(page.layout, page.rows, &comparison);
        let mut reindexed = Reindexed::new();
        for located in write.findings(page).await? {
            match write.fix(&located, &mut reindexed).await? {
                None => repaired.fixed.push(located.finding),
                Some(left) => repaired.left.push(left),
            }
        }
        progress.findings = repaired.fixed.len() + repaired.left.len();
        progress.fixed = repaired.fixed.len();
        if let Some(report) = &mut on_progress {
            report(&progress);
        }
        pacing::yield_now().await;
    }
    repaired.entities = progress.entities;
    Ok(repaired)
}

impl fmt::Debug for Repair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("cursor", &self.comparison.cursor()).finish_non_exhaustive()
    }
}

impl Tables {
    /// Fixes the findings of [`verify`](Self::verify), beside writers and with their own steps. It deletes pending
    /// inserts, whose writers begin anew if they are only slow. It deletes a stale row after it gave the row's
    /// entity a new version, so that no writer still needs the row. It writes a missing row under the entity's version.
    ///
    /// It can run at any time, again, and several times at once. It reads rows as a
    /// [verification](Self::verify) does, and sends requests of their own only for rows that differ. To fix a row takes a
    /// few reads and writes. To drop its future does no harm: each fix is a write that another repair completes. Await it.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// let repaired = tables.repair::<Post>().progress(|progress| println!("{}", progress.entities)).await?;
    /// for finding in repaired.left {
    ///     println!("{finding}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The store's errors. Problems that were fixed before an error stay fixed.
    pub fn repair<'a, E: TableEntity>(&self) -> Repair<'a> {
        self.repair_schema(Schema::of::<E>())
    }

    pub(crate) fn repair_schema<'a>(&self, schema: Schema) -> Repair<'a> {
        let comparison = IndexComparison::new(self.backend().clone(), schema, "repair", MEMORY);
        Repair { write: Write::new(self.clone(), schema), comparison, on_progress: None }
    }
}

/// The indexes and entities whose rows were all written for a finding of a page.
type Reindexed = HashSet<(usize, RowKeys)>;

/// The fixes of an entity's rows.
impl Write {
    /// Fixes a finding. Returns the finding that is left if it needs a decision, or if a row could not be deleted. A fix
    /// of an earlier row can reveal two owners of a value.
    ///
    /// A row that is missing or wrong is written with all rows of its entity in the index, once for all findings of a page.
    async fn fix(
        &self,
        LocatedFinding { finding, layout, entity, row }: &LocatedFinding,
        done: &mut Reindexed,
    ) -> Result<Option<Finding>> {
        match (finding, row) {
            (Finding::Pending { .. }, Some((keys, etag))) => {
                self.delete_row(self.schema.table().into(), keys, etag).await?;
            }
            (Finding::StaleRow { .. }, Some((keys, etag))) => {
                let stale = WrittenRow { layout: *layout, keys: keys.clone(), etag: etag.clone() };
                self.roll_back(entity, vec![stale], &mut None).await;
            }
            (Finding::StaleRow { row, .. }, None) => self.remove_from_list(*layout, entity, row).await?,
            (Finding::TwoOwners { .. } | Finding::Foreign { .. }, _) => return Ok(Some(finding.clone())),
            _ if done.contains(&(*layout, entity.clone())) => {}
            _ => {
                let found = self.committed(entity).await?.into_iter().collect();
                let (_, conflicts) = reindex(&self.tables, self.schema, *layout, found, true).await?;
                if let Some(conflict) = conflicts.into_iter().next() {
                    return Ok(Some(conflict));
                }
                done.insert((*layout, entity.clone()));
            }
        }
        match row {
            Some((keys, etag)) if self.is_left(*layout, entity, keys, etag).await? => Ok(Some(finding.clone())),
            _ => Ok(None),
        }
    }

    /// Checks whether a row still has the version in which it was found, and the entity does not have the row.
    async fn is_left(&self, layout: usize, entity: &RowKeys, keys: &RowKeys, etag: &ETag) -> Result<bool> {
        let row = self.get(self.schema.layouts[layout].table, keys).await?;
        if row.is_none_or(|row| row.etag != *etag) {
            return Ok(false);
        }
        Ok(layout == 0 || self.entity(entity).await?.is_none_or(|found| !found.encoded.has(layout, keys)))
    }
}
