//! Finding what crashes left.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::TryStreamExt;

use super::{
    finding::Finding,
    progress::{Progress, Told},
    schema::{EncodedRow, Found, Schema},
    sweep::{Sweep, Swept},
    upkeep::Upkeep,
};
use crate::{
    ETag, Error, Properties, Result, Row, RowId, TableEntity, Tables, ValueRef, backend::BoxFuture, entity,
    layout::Holds, pacing, row::RowKeys,
};

/// A row of an index that is not as it should be, and in which version it was seen.
pub(super) struct Fault {
    pub(super) finding: Finding,
    pub(super) layout: usize,
    /// The entity that the row is of.
    pub(super) entity: RowKeys,
    /// The row in the way, or the pending entity.
    pub(super) seen: Option<(RowKeys, ETag)>,
}

impl Upkeep {
    /// What is wrong with the rows of a page.
    pub(super) async fn faults(&self, swept: &Swept) -> Result<Vec<Fault>> {
        let mut looks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(swept.rows.len());
        for row in swept.rows.iter() {
            looks.push(Box::pin(self.faults_of(swept.layout, &swept.table, row.to_row())));
        }
        Ok(pacing::concurrently(looks).await?.into_iter().flatten().collect())
    }

    async fn faults_of(&self, layout: usize, table: &str, row: Row) -> Result<Vec<Fault>> {
        let faults = match layout {
            0 => self.faults_of_entity(table, row).await,
            _ if self.schema.holds(layout) == Holds::List => self.faults_of_list(layout, row).await,
            _ => self.fault_of_row(layout, row).await.map(Vec::from_iter),
        };
        passed_over(faults)
    }

    /// A row that is none of the layout's, or cannot be taken for one.
    pub(super) fn foreign(&self, layout: usize, table: &str, keys: &RowKeys, problem: String) -> Fault {
        let info = &self.schema.layouts[layout];
        let (index, row) = (info.index.as_ref().map(|_| info.name), RowId::of(table, keys));
        Fault { finding: Finding::Foreign { index, row, problem }, layout, entity: keys.clone(), seen: None }
    }

    /// What is wrong with the index rows of an entity.
    async fn faults_of_entity(&self, table: &str, row: Row) -> Result<Vec<Fault>> {
        let keys = (row.partition_key.clone(), row.row_key.clone());
        let mut found = match self.schema.read(row) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Vec::new()),
            Err(problem) => return Ok(vec![self.foreign(0, table, &keys, problem.to_string())]),
        };
        // A writer may be under way: what it has changed meanwhile is looked at again.
        for _ in 0..super::upkeep::TRIES {
            if found.pending.is_some() {
                let finding = Finding::Pending { entity: RowId::of(table, &keys) };
                let seen = Some((keys.clone(), found.row.etag));
                return Ok(vec![Fault { finding, layout: 0, entity: keys, seen }]);
            }
            let mut faults = Vec::new();
            for layout in 1..self.schema.layouts.len() {
                faults.extend(passed_over(self.missing(&found, layout..=layout).await)?);
            }
            if faults.is_empty() {
                return Ok(faults);
            }
            match self.entity(&keys).await? {
                Some(now) if now.row.etag == found.row.etag => return Ok(faults),
                Some(now) => found = now,
                None => return Ok(Vec::new()),
            }
        }
        Ok(Vec::new())
    }

    /// What an entity lacks in these indexes.
    pub(super) async fn missing(&self, found: &Found, layouts: impl Iterator<Item = usize>) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        for layout in layouts {
            if let Some(row) = found.encoded.row(layout) {
                faults.extend(self.fault_of_entity(layout, &found.encoded.primary().keys, row).await?);
            }
        }
        Ok(faults)
    }

    async fn fault_of_entity(&self, layout: usize, entity: &RowKeys, row: &EncodedRow) -> Result<Option<Fault>> {
        let info = &self.schema.layouts[layout];
        let index = info.name;
        let ids = || (RowId::of(info.table, &row.keys), RowId::of(self.schema.table(), entity));
        let fault = |finding, seen| Some(Fault { finding, layout, entity: entity.clone(), seen });
        let missing = |seen| {
            let (row, entity) = ids();
            fault(Finding::MissingRow { index, row, entity }, seen)
        };
        if self.schema.holds(layout) == Holds::List {
            let listed = self.is_listed(&row.keys, entity).await?;
            return Ok(if listed { None } else { missing(None) });
        }
        let Some(stored) = self.get(info.table, &row.keys).await? else { return Ok(missing(None)) };
        let seen = Some((row.keys.clone(), stored.etag.clone()));
        let owner = self.schema.owner(layout, &stored)?;
        if owner != *entity {
            if !self.is_taken(layout, &row.keys, &owner).await? {
                return Ok(missing(seen));
            }
            let ((row, entity), owner) = (ids(), RowId::of(self.schema.table(), &owner));
            return Ok(fault(Finding::TwoOwners { index, row, entity, owner }, seen));
        }
        if self.schema.holds(layout) != Holds::Pointer && !same(&stored.properties, &row.properties) {
            let (row, entity) = ids();
            return Ok(fault(Finding::StaleCopy { index, row, entity }, seen));
        }
        Ok(None)
    }

    /// Whether a row of an index leads to an entity that does not have it.
    async fn fault_of_row(&self, layout: usize, row: Row) -> Result<Option<Fault>> {
        let info = &self.schema.layouts[layout];
        let keys = (row.partition_key.clone(), row.row_key.clone());
        let owner = match self.schema.owner(layout, &row) {
            Ok(owner) => owner,
            Err(problem) => return Ok(Some(self.foreign(layout, info.table, &keys, problem.to_string()))),
        };
        if self.leads(layout, &keys, &owner).await? {
            return Ok(None);
        }
        // A writer may have been under way: then it has changed the row, or the entity, by now.
        let Some(now) = self.get(info.table, &keys).await?.filter(|now| now.etag == row.etag) else { return Ok(None) };
        if self.leads(layout, &keys, &owner).await? {
            return Ok(None);
        }
        let (row, entity) = (RowId::of(info.table, &keys), RowId::of(self.schema.table(), &owner));
        let finding = Finding::StaleRow { index: info.name, row, entity };
        Ok(Some(Fault { finding, layout, entity: owner, seen: Some((keys, now.etag)) }))
    }
}

impl Upkeep {
    /// Whether a row of an index leads to an entity that has it. A pending entity is a finding of its own, and its rows
    /// with it.
    pub(super) async fn leads(&self, layout: usize, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(self.entity(entity).await?.is_some_and(|found| found.encoded.keys(layout) == Some(keys)))
    }
}

/// What was found beside a row that cannot be read, which the sweep comes to by itself.
fn passed_over(faults: Result<Vec<Fault>>) -> Result<Vec<Fault>> {
    match faults {
        Err(error) if is_of_row(&error) => Ok(Vec::new()),
        faults => faults,
    }
}

/// Whether a row cannot be read for what it holds, which says nothing of others.
pub(super) const fn is_of_row(error: &Error) -> bool {
    matches!(error, Error::Key(_) | Error::Property(_) | Error::Damaged { .. })
}

/// Whether two rows have the same properties, but for whose write they were.
pub(super) fn same(stored: &Properties, expected: &Properties) -> bool {
    let own = |name: &str| name != entity::WRITE_ID;
    let mut stored: Vec<_> = stored.iter().filter(|(name, _)| own(name)).collect();
    let mut expected: Vec<_> = expected.iter().collect();
    stored.sort_by_key(|(name, _)| *name);
    expected.sort_by_key(|(name, _)| *name);
    let is_same = |((left, stored), (right, expected)): (&(&str, ValueRef<'_>), &(&str, ValueRef<'_>))| {
        left == right && stored.is_same(*expected)
    };
    stored.len() == expected.len() && stored.iter().zip(&expected).all(is_same)
}

/// What a page of a verification was found to have, how far it is then, and what goes on with the next one.
type Page = Result<Option<(Vec<Finding>, Progress, Upkeep, Sweep)>>;

/// The findings of a verification, a [`Stream`]: see [`Tables::verify`].
#[must_use = "a stream does nothing until it is polled"]
pub struct Verify {
    /// What the next page is read with; gone while it is read, and at the end.
    next: Option<(Result<Upkeep>, Sweep)>,
    page: Option<BoxFuture<'static, Page>>,
    findings: VecDeque<Finding>,
    /// How far it is once these findings were given out.
    progress: Progress,
    told: Told,
    cursor: Option<String>,
}

impl Verify {
    /// Goes on where another verification of the same entity was, by its [`cursor`](Self::cursor): after everything of
    /// which it had given out the findings.
    ///
    /// # Errors
    /// [`Error::Cursor`](crate::Error::Cursor) for a text that is no such cursor.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        if let Some((_, sweep)) = &mut self.next {
            sweep.resume(cursor)?;
        }
        Ok(self)
    }

    /// Tells how far it is, after each page, once its findings were given out.
    pub fn progress(mut self, told: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.told = Some(Box::new(told));
        self
    }

    /// Reads all findings. An error takes those before it along: to go on after one, read the stream and keep its
    /// [`cursor`](Self::cursor).
    ///
    /// # Errors
    /// The first one of the stream.
    pub async fn all(self) -> Result<Vec<Finding>> {
        self.try_collect().await
    }

    /// Where to go on after the findings that were given out so far, page by page: those of a page that was begun come
    /// again. `None` before the first page.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    fn tell(&mut self) {
        // Before the first page there is nothing to tell.
        if let (Some(told), true) = (&mut self.told, self.progress.cursor.is_some()) {
            told(&self.progress);
        }
    }
}

async fn page(upkeep: Result<Upkeep>, mut sweep: Sweep, mut progress: Progress) -> Page {
    let upkeep = upkeep?;
    let Some(swept) = sweep.next().await? else { return Ok(None) };
    let findings: Vec<_> = upkeep.faults(&swept).await?.into_iter().map(|fault| fault.finding).collect();
    progress.add(&swept);
    progress.fixed += findings.len();
    progress.cursor = sweep.cursor();
    Ok(Some((findings, progress, upkeep, sweep)))
}

impl Stream for Verify {
    type Item = Result<Finding>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(finding) = self.findings.pop_front() {
                return Poll::Ready(Some(Ok(finding)));
            }
            if let Some((upkeep, sweep)) = self.next.take() {
                // What the sweep is past of was given out.
                self.cursor = sweep.cursor();
                self.tell();
                self.page = Some(Box::pin(page(upkeep, sweep, self.progress.clone())));
            }
            let Some(reading) = &mut self.page else { return Poll::Ready(None) };
            let read = std::task::ready!(reading.as_mut().poll(context));
            self.page = None;
            match read {
                Ok(Some((findings, progress, upkeep, sweep))) => {
                    (self.findings, self.progress) = (findings.into(), progress);
                    self.next = Some((Ok(upkeep), sweep));
                }
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl fmt::Debug for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl Tables {
    /// Goes through all entities and all rows of their indexes, and streams what is wrong with them: what crashed
    /// writers left, and what others did. It may run beside writers: what they are about to do is looked at twice
    /// before it is told, but an insert that is under way is told as pending, since slow and dead look alike.
    ///
    /// It reads every row, with a point for each row of an index.
    ///
    /// # Errors
    /// What the store says. A row that cannot be read is a [finding](Finding::Foreign).
    pub fn verify<E: TableEntity>(&self) -> Verify {
        let schema = Schema::of::<E>();
        let sweep = Sweep::new(self.backend().clone(), schema, 0..schema.layouts.len());
        Verify {
            next: Some((Upkeep::new(self.clone(), schema), sweep)),
            page: None,
            findings: VecDeque::new(),
            progress: Progress::default(),
            told: None,
            cursor: None,
        }
    }
}
