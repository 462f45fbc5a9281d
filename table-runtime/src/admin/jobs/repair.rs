//! Repair: fixing the problems that crashes left, with the steps of writers.

use std::{collections::HashSet, fmt, sync::Arc};

use table_model::TableEntity;
use table_store::{
    ETag, Result,
    backend::BoxFuture,
    unstable::{RowKeys, observe::Running},
};

use super::{
    compare::{Compared, RowComparison, Suspect},
    described::{Described, Typed},
    examine::{LocatedFinding, examine},
    finding::Finding,
    job::{Comparing, Job, JobKind, JobOptions, OfPartitions, Progress, Resumable},
    marks::{Unmarked, event_sections, find_unmarked},
    position::hash_job,
    reindex::reindex,
};
use crate::{
    client::tables::Tables,
    write::index::{Schema, Write, WrittenRow},
};

/// A repair: see [`Tables::repair`].
pub struct Repair(Result<Write>);

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

impl Resumable for Repair {
    fn hash(&self) -> u64 {
        self.0.as_ref().map_or(0, |write| hash_job("repair", write.schema.layouts))
    }
}

impl Comparing for Repair {}
impl OfPartitions for Repair {}

impl JobKind for Repair {
    type Done = Repaired;
    type Error = table_store::Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.0.as_ref().ok().and_then(|write| write.begin("repair"))
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<Repaired> {
        let repair = self;
        let job = repair.hash();
        let write = Arc::new(repair.0?);
        let of = Typed::new(Arc::clone(&write), None);
        let (mut repaired, mut progress) = (Repaired::default(), Progress::default());
        let mut comparison = RowComparison::with(&of, &mut options)?;
        let (of, write) = (&of, &*write);
        let work = |table: String, suspects: Vec<Suspect>| -> BoxFuture<'_, _> {
            Box::pin(async move {
                let (mut reindexed, mut fixed) = (Reindexed::new(), Vec::new());
                for located in examine(of, &table, suspects).await? {
                    let left = write.fix(&located, &mut reindexed).await?;
                    fixed.push((located.finding, left));
                }
                Ok(fixed)
            })
        };
        let done = |compared: Compared, fixed: Vec<(Finding, Option<Finding>)>| {
            compared.add_to(&mut progress, &options, job);
            for (finding, left) in fixed {
                match left {
                    None => repaired.fixed.push(finding),
                    Some(left) => repaired.left.push(left),
                }
            }
            progress.findings = repaired.fixed.len() + repaired.left.len();
            progress.fixed = repaired.fixed.len();
            options.report(|| progress.clone());
        };
        comparison.run(&work, done).await?;
        let events = of.events().await?;
        let scan = options.scan(of.client(), event_sections(&events, 0));
        for Unmarked { mark, finding } in find_unmarked(&events, scan).await? {
            // A lease that was begun before does not show that the mark is there.
            write.tables.mark_after(&mark, Some(write.tables.backend().clock())).await?;
            repaired.fixed.push(finding);
        }
        repaired.entities = progress.entities;
        Ok(repaired)
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").finish_non_exhaustive()
    }
}

impl Tables {
    /// Fixes the findings of [`verify`](Self::verify), beside writers and with their own steps. It deletes pending
    /// inserts, whose writers begin anew if they are only slow. It deletes a stale row after it gave the row's
    /// entity a new version, so that no writer still needs the row. It writes a missing row under the entity's version, and the
    /// missing mark of an event.
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
    pub fn repair<'a, E: TableEntity>(&self) -> Job<'a, Repair> {
        self.repair_schema(Schema::of::<E>())
    }

    pub(crate) fn repair_schema<'a>(&self, schema: Schema) -> Job<'a, Repair> {
        Job::new(Repair(Write::new(self.clone(), schema)))
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
            (Finding::TwoOwners { .. } | Finding::Foreign { .. } | Finding::UnmarkedEvent { .. }, _) => {
                return Ok(Some(finding.clone()));
            }
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
        let row = self.get(&self.schema.layouts[layout].table, keys).await?;
        if row.is_none_or(|row| row.etag != *etag) {
            return Ok(false);
        }
        Ok(layout == 0 || self.entity(entity).await?.is_none_or(|found| !found.encoded.has(layout, keys)))
    }
}
