//! Mending what crashes left, by the steps of writers.

use std::{fmt, future::IntoFuture};

use super::{
    finding::Finding,
    progress::{Progress, Told},
    schema::{Found, Schema},
    sweep::Sweep,
    transaction::Change,
    upkeep::{Mine, TRIES, Upkeep, Written},
    verify::Fault,
};
use crate::{
    ETag, Error, Properties, Result, TableEntity, Tables,
    backend::{Action, BoxFuture, IfMatch},
    layout::{Holds, Scope},
    pacing,
    row::RowKeys,
};

/// A repair, which runs when it is awaited: see [`Tables::repair`].
#[must_use = "a repair does nothing until it is awaited"]
pub struct Repair {
    upkeep: Result<Upkeep>,
    sweep: Sweep,
    told: Told,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The entities that were looked at.
    pub entities: usize,
    /// What was fixed.
    pub fixed: Vec<Finding>,
    /// What it takes somebody to decide on: two entities with one value of a unique index, and rows that are not the
    /// entity's or cannot be read. And what the store did not let it clear away, which the next repair tries again.
    pub left: Vec<Finding>,
}

impl Repair {
    /// Goes on where another repair of the same entity was, by its [`Progress::cursor`].
    ///
    /// # Errors
    /// [`Error::Cursor`] for a text that is no such cursor.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        self.sweep.resume(cursor)?;
        Ok(self)
    }

    /// Tells how far it is, after each page.
    pub fn progress(mut self, told: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.told = Some(Box::new(told));
        self
    }
}

impl IntoFuture for Repair {
    type Output = Result<Repaired>;
    type IntoFuture = BoxFuture<'static, Result<Repaired>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(run(self))
    }
}

async fn run(Repair { upkeep, mut sweep, mut told }: Repair) -> Result<Repaired> {
    let upkeep = upkeep?;
    let (mut repaired, mut progress) = (Repaired::default(), Progress::default());
    while let Some(swept) = sweep.next().await? {
        for fault in upkeep.faults(&swept).await? {
            match upkeep.mend(&fault).await? {
                None => repaired.fixed.push(fault.finding),
                Some(left) => repaired.left.push(left),
            }
        }
        progress.add(&swept);
        progress.fixed = repaired.fixed.len();
        progress.cursor = sweep.cursor();
        if let Some(told) = &mut told {
            told(&progress);
        }
        pacing::yield_now().await;
    }
    repaired.entities = progress.entities;
    Ok(repaired)
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("cursor", &self.sweep.cursor()).finish_non_exhaustive()
    }
}

impl Tables {
    /// Mends what [`verify`](Self::verify) finds, beside writers and by their own steps: an insert that is not
    /// committed is deleted (a slow one is told [`Error::Aborted`]), a stale row is deleted after its entity was given
    /// a new version, so that no writer can be about to need it, a missing row is written under the entity's version.
    ///
    /// It can be run at any time, again, and several times at once. Await it.
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
    /// What the store says; what was fixed before stays fixed.
    pub fn repair<E: TableEntity>(&self) -> Repair {
        let schema = Schema::of::<E>();
        let sweep = Sweep::new(self.backend().clone(), schema, 0..schema.layouts.len());
        Repair { upkeep: Upkeep::new(self.clone(), schema), sweep, told: None }
    }
}

impl Upkeep {
    /// Mends a fault, and says what is left: what is for somebody to decide on, or was not to be cleared away. There may
    /// be two owners of a value only since the row before was fixed.
    async fn mend(&self, Fault { finding, layout, entity, seen }: &Fault) -> Result<Option<Finding>> {
        match (finding, seen) {
            (Finding::Pending { .. }, Some((keys, etag))) => self.delete_row(self.schema.table(), keys, etag).await?,
            (Finding::StaleRow { .. }, Some((keys, etag))) => {
                let written = Written { layout: *layout, keys: keys.clone(), etag: etag.clone() };
                self.take_back(entity, vec![written], None).await;
            }
            (Finding::StaleRow { row, .. }, None) => self.unlist(*layout, entity, row).await?,
            (Finding::TwoOwners { .. } | Finding::Foreign { .. }, _) => return Ok(Some(finding.clone())),
            _ => match self.reindex(entity, &[*layout], Vec::new()).await {
                Err(Error::UniqueViolation(violation)) => {
                    return Ok(Some(Finding::two_owners(*violation)));
                }
                reindexed => reindexed.map(drop)?,
            },
        }
        match seen {
            Some((keys, etag)) if self.is_left(*layout, entity, keys, etag).await? => Ok(Some(finding.clone())),
            _ => Ok(None),
        }
    }

    /// Whether a row stands as it was seen, though it should not: it could not be cleared away.
    async fn is_left(&self, layout: usize, entity: &RowKeys, keys: &RowKeys, etag: &ETag) -> Result<bool> {
        let row = self.get(self.schema.layouts[layout].table, keys).await?;
        if row.is_none_or(|row| row.etag != *etag) {
            return Ok(false);
        }
        // The entity may have come to have it.
        Ok(layout == 0 || self.entity(entity).await?.is_none_or(|found| found.encoded.keys(layout) != Some(keys)))
    }

    /// Writes the rows of an entity in these indexes, as an update that changes nothing would, and returns whether the
    /// entity exists. The entity gets a new version.
    ///
    /// `written` are rows that were already written for the entity without a new version. A writer that looked for the
    /// entity's old rows before such a row was written does not know it, and can still commit another value. So every
    /// row that was written under a version that did not stay is looked at again after the last fence.
    pub(super) async fn reindex(&self, keys: &RowKeys, layouts: &[usize], mut written: Vec<Written>) -> Result<bool> {
        let reindexed = self.reindex_until_fenced(keys, layouts, &mut written).await;
        if reindexed.is_err() && !written.is_empty() {
            self.fence_entity(keys).await;
        }
        self.take_back(keys, written, None).await;
        reindexed
    }

    async fn reindex_until_fenced(
        &self,
        keys: &RowKeys,
        layouts: &[usize],
        written: &mut Vec<Written>,
    ) -> Result<bool> {
        let mut delays = pacing::delays();
        loop {
            let Some(found) = self.committed(keys).await? else { return Ok(false) };
            match self.another()?.reindex_found(&found, layouts, written).await {
                Err(Error::NotFound(_)) => return Ok(false),
                Err(error @ (Error::ConditionNotMet(_) | Error::OutcomeUnknown(_))) => {
                    self.pause(&mut delays, error).await?;
                }
                reindexed => return reindexed.map(|()| true),
            }
        }
    }

    /// Gives an entity a new version, so that no writer that read it before can commit. If that fails, a repair finds
    /// what is left.
    async fn fence_entity(&self, keys: &RowKeys) {
        for _ in 0..TRIES {
            let Ok(Some(found)) = self.committed(keys).await else { return };
            match self.touch(&found).await {
                Err(Error::ConditionNotMet(_) | Error::OutcomeUnknown(_)) => {}
                _ => return,
            }
        }
    }

    /// Adds the rows that it wrote to `unfenced`, unless the entity got its new version after them.
    async fn reindex_found(&self, found: &Found, layouts: &[usize], unfenced: &mut Vec<Written>) -> Result<()> {
        let keys = &found.encoded.primary().keys;
        let claimed: Vec<_> = self.schema.claimed().filter(|layout| layouts.contains(layout)).collect();
        let etag = found.row.etag.clone();
        let written = match self.write_rows(&found.encoded, &claimed, Mine::Version(&etag)).await {
            Ok(written) => written,
            Err((error, written)) => {
                unfenced.extend(written);
                return Err(error);
            }
        };
        // To the indexes that are written anew, the entity is a new one.
        let mut old = found.encoded.clone().into_loaded();
        for (_, row) in old.iter_mut().enumerate().filter(|(layout, _)| layouts.contains(layout)) {
            *row = None;
        }
        let change = Change { old: Some(&old), new: Some(&found.encoded) };
        let touch = Action::Merge(Properties::default(), IfMatch::ETag(etag));
        let copies = layouts.iter().any(|layout| {
            let index = self.schema.layouts[*layout].index.as_ref();
            index.is_some_and(|index| index.scope == Scope::CrossPartition && index.holds == Holds::Copy)
        });
        match self.commit(&change, keys, touch).await {
            Ok(_) if copies => self.refresh(keys, Vec::new()).await,
            Ok(_) => Ok(()),
            Err(error) => {
                unfenced.extend(written);
                Err(error)
            }
        }
    }
}
