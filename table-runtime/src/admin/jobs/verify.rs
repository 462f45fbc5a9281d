//! Verification: finding the problems that crashes and other programs left.

use std::{
    collections::VecDeque,
    fmt,
    future::IntoFuture,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt};
use table_store::{
    ETag, Result, Row, RowId,
    backend::BoxFuture,
    unstable::{
        RowKeys,
        observe::{ObservedStream, observed},
    },
};

use super::{
    compare::{ComparedPage, IndexComparison, Suspect},
    finding::Finding,
    hashes::MEMORY,
    progress::{Progress, ProgressCallback},
};
use crate::{
    client::{pacing, tables::Tables},
    model::{codec::is_unreadable, entity::TableEntity, layout::Holds},
    write::index::{EncodedRow, FoundEntity, Schema, Write},
};

/// A finding, with the version of the row in which it was found.
pub(super) struct LocatedFinding {
    pub(super) finding: Finding,
    pub(super) layout: usize,
    /// The entity that the finding is about.
    pub(super) entity: RowKeys,
    /// The index row or the pending entity that has to be deleted or replaced.
    pub(super) row: Option<(RowKeys, ETag)>,
}

/// The checks of an entity's rows.
impl Write {
    /// Examines the suspects of a page and returns the findings.
    pub(super) async fn findings(&self, page: ComparedPage) -> Result<Vec<LocatedFinding>> {
        let ComparedPage { layout, table, suspects, .. } = page;
        let mut checks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(suspects.len());
        for suspect in suspects {
            checks.push(Box::pin(self.check_suspect(layout, &table, suspect)));
        }
        Ok(pacing::concurrently(checks).await?.into_iter().flatten().collect())
    }

    async fn check_suspect(&self, layout: usize, table: &str, suspect: Suspect) -> Result<Vec<LocatedFinding>> {
        let findings = match suspect {
            Suspect::Foreign { keys, problem } => Ok(vec![self.foreign_row(layout, table, keys, problem)]),
            Suspect::Pending { keys, etag } => Ok(vec![pending(table, keys, etag)]),
            Suspect::Entity { found, layouts } => self.check_entity(table, found, &layouts).await,
            Suspect::IndexRow(row) => self.check_index_row(layout, row).await.map(Vec::from_iter),
            Suspect::List { keys, members } => self.check_list(layout, &keys, members).await,
        };
        without_unreadable(findings)
    }

    /// Returns the finding for a row that does not belong to the layout, or cannot be read.
    fn foreign_row(&self, layout: usize, table: &str, keys: RowKeys, problem: String) -> LocatedFinding {
        let info = &self.schema.layouts[layout];
        let (index, row) = (info.index.as_ref().map(|_| info.name), RowId::of(table, &keys));
        LocatedFinding { finding: Finding::Foreign { index, row, problem }, layout, entity: keys, row: None }
    }

    /// Checks the rows of an entity in these indexes.
    async fn check_entity(
        &self,
        table: &str,
        mut found: FoundEntity,
        layouts: &[usize],
    ) -> Result<Vec<LocatedFinding>> {
        let keys = found.row.as_ref().keys();
        // A writer may be active. An entity that it changes meanwhile is checked again.
        let mut delays = pacing::delays();
        loop {
            if found.pending.is_some() {
                return Ok(vec![pending(table, keys, found.row.etag)]);
            }
            let mut findings = Vec::new();
            for layout in layouts {
                findings.extend(without_unreadable(self.missing_rows(&found, *layout).await)?);
            }
            if findings.is_empty() {
                return Ok(findings);
            }
            match self.entity(&keys).await? {
                Some(now) if now.row.etag == found.row.etag => return Ok(findings),
                Some(now) => found = now,
                None => return Ok(Vec::new()),
            }
            if !delays.wait(self.backend()).await {
                return Ok(Vec::new());
            }
        }
    }

    /// Returns a finding for each of the entity's rows in the index that is missing or wrong.
    async fn missing_rows(&self, found: &FoundEntity, layout: usize) -> Result<Vec<LocatedFinding>> {
        let mut checks: Vec<BoxFuture<'_, _>> = Vec::new();
        for row in found.encoded.rows_in(layout) {
            checks.push(Box::pin(self.check_row_of(layout, &found.encoded.primary.keys, row)));
        }
        Ok(pacing::concurrently(checks).await?.into_iter().flatten().collect())
    }

    async fn check_row_of(&self, layout: usize, entity: &RowKeys, row: &EncodedRow) -> Result<Option<LocatedFinding>> {
        let schema = &self.schema;
        let info = &schema.layouts[layout];
        let index = info.name;
        let ids = || (RowId::of(info.table, &row.keys), self.row_id(entity));
        let located = |finding, row| Some(LocatedFinding { finding, layout, entity: entity.clone(), row });
        let missing = |at| {
            let (row, entity) = ids();
            located(Finding::MissingRow { index, row, entity }, at)
        };
        if schema.holds(layout) == Holds::List {
            let is_listed = self.is_listed(&row.keys, entity).await?;
            return Ok(if is_listed { None } else { missing(None) });
        }
        let Some(stored) = self.get(info.table, &row.keys).await? else { return Ok(missing(None)) };
        let at = Some((row.keys.clone(), stored.etag.clone()));
        let owner = schema.owner(layout, stored.as_ref())?;
        if owner != *entity {
            if !self.is_taken(layout, &row.keys, &owner).await? {
                return Ok(missing(at));
            }
            let ((row, entity), owner) = (ids(), self.row_id(&owner));
            return Ok(located(Finding::TwoOwners { index, row, entity, owner }, at));
        }
        if schema.holds(layout) != Holds::Pointer && !schema.is_up_to_date(layout, &stored, &row.properties)? {
            let (row, entity) = ids();
            return Ok(located(Finding::StaleCopy { index, row, entity }, at));
        }
        Ok(None)
    }

    /// Checks whether an index row points to an entity that has it.
    async fn check_index_row(&self, layout: usize, row: Row) -> Result<Option<LocatedFinding>> {
        let info = &self.schema.layouts[layout];
        let keys = row.as_ref().keys();
        let owner = self.schema.owner(layout, row.as_ref())?;
        if self.points_to_any_entity(layout, &keys, &owner).await? {
            return Ok(None);
        }
        // If a writer was active, it has changed the row or the entity by now.
        let now = self.get(info.table, &keys).await?;
        let Some(now) = now.filter(|now| now.etag == row.etag) else { return Ok(None) };
        if self.points_to_any_entity(layout, &keys, &owner).await? {
            return Ok(None);
        }
        let (row, entity) = (RowId::of(info.table, &keys), self.row_id(&owner));
        let finding = Finding::StaleRow { index: info.name, row, entity };
        Ok(Some(LocatedFinding { finding, layout, entity: owner, row: Some((keys, now.etag)) }))
    }

    /// Checks whether an index row points to an entity that has it, committed or pending. A pending entity is a finding
    /// of its own.
    async fn points_to_any_entity(&self, layout: usize, keys: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(self.entity(entity).await?.is_some_and(|found| found.encoded.has(layout, keys)))
    }

    /// Returns a finding for each of these entities in a list that is missing or has another value.
    async fn check_list(&self, layout: usize, keys: &RowKeys, members: Vec<RowKeys>) -> Result<Vec<LocatedFinding>> {
        let info = &self.schema.layouts[layout];
        let mut findings = Vec::new();
        for entity in members {
            match self.is_listed_correctly(layout, keys, &entity).await {
                Ok(true) => continue,
                // The scan of the entities reports the entity itself.
                Err(error) if is_unreadable(&error) => continue,
                checked => checked?,
            };
            let (row, id) = (RowId::of(info.table, keys), self.row_id(&entity));
            let finding = Finding::StaleRow { index: info.name, row, entity: id };
            findings.push(LocatedFinding { finding, layout, entity, row: None });
        }
        Ok(findings)
    }

    async fn is_listed_correctly(&self, layout: usize, list: &RowKeys, entity: &RowKeys) -> Result<bool> {
        Ok(self.points_to_any_entity(layout, list, entity).await?
            // If a writer was active, it has changed the list or the entity by now.
            || !self.is_listed(list, entity).await?
            || self.is_taken(layout, list, entity).await?)
    }
}

/// Returns the finding for an entity whose insert is not committed.
fn pending(table: &str, keys: RowKeys, etag: ETag) -> LocatedFinding {
    let finding = Finding::Pending { entity: RowId::of(table, &keys) };
    LocatedFinding { finding, layout: 0, row: Some((keys.clone(), etag)), entity: keys }
}

/// Drops the findings about a row that points to an unreadable one, which the scan reports by itself.
fn without_unreadable(findings: Result<Vec<LocatedFinding>>) -> Result<Vec<LocatedFinding>> {
    match findings {
        Err(error) if is_unreadable(&error) => Ok(Vec::new()),
        findings => findings,
    }
}

/// The findings of one page, the progress after it, and the state that reads the next page.
type NextPage = Result<Option<(Vec<Finding>, Progress, Write, IndexComparison)>>;

/// A verification: see [`Tables::verify`]. It is a [`Stream`] of findings. When it is awaited, it returns all of them, as
/// [`Verified`].
#[must_use = "nothing is read until it is awaited or polled"]
pub struct Verify<'a> {
    /// The state that reads the next page; `None` while a page is read, and at the end.
    next: Option<(Result<Write>, IndexComparison)>,
    page: Option<BoxFuture<'static, NextPage>>,
    findings: VecDeque<Finding>,
    /// The progress after these findings.
    progress: Progress,
    on_progress: ProgressCallback<'a>,
    cursor: Option<String>,
    operation: ObservedStream,
}

/// The result of a verification.
#[must_use = "what is wrong is a finding, not an error: look at `findings`"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of index rows that were read.
    pub index_rows: usize,
    /// The problems that were found.
    pub findings: Vec<Finding>,
}

impl<'a> Verify<'a> {
    /// Continues an earlier verification of the same entity at its [`cursor`](Self::cursor): after the last page of
    /// which it returned all findings. The rows of the same pass are read again, to compare them with the rest. They
    /// are neither examined nor counted again.
    ///
    /// # Errors
    /// Returns [`Error::Cursor`](crate::Error::Cursor) for a text that is not such a cursor, and for a cursor from
    /// before a change of the entity's keys or indexes.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        if let Some((_, comparison)) = &mut self.next {
            comparison.resume(cursor)?;
        }
        Ok(self)
    }

    /// Sets the number of bytes for the hashes of index rows: 64 MiB if it is not set. Less memory takes more passes:
    /// see [`Tables::verify`].
    pub fn memory(mut self, bytes: usize) -> Self {
        if let Some((_, comparison)) = &mut self.next {
            comparison.set_memory(bytes);
        }
        self
    }

    /// Reports the progress after each page, once its findings are returned.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Reads all findings, as an `await` of the verification does. An error loses those before it. To continue after an
    /// error, read the stream and keep its [`cursor`](Self::cursor).
    ///
    /// # Errors
    /// The first error of the stream.
    pub async fn all(self) -> Result<Vec<Finding>> {
        self.try_collect().await
    }

    /// Returns the cursor from which a verification continues after the findings that were returned so far. It moves page
    /// by page: findings of an unfinished page are returned again. `None` before the first page.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    fn report(&mut self) {
        // There is no progress before the first page.
        if let (Some(report), true) = (&mut self.on_progress, self.progress.cursor.is_some()) {
            report(&self.progress);
        }
    }
}

async fn next_page(write: Result<Write>, mut comparison: IndexComparison, mut progress: Progress) -> NextPage {
    let write = write?;
    // The pages of an embedded store are always ready.
    pacing::yield_now().await;
    let Some(page) = comparison.next(&write).await? else { return Ok(None) };
    progress.add(page.layout, page.rows, &comparison);
    let findings = write.findings(page).await?;
    let findings: Vec<_> = findings.into_iter().map(|located| located.finding).collect();
    progress.findings += findings.len();
    Ok(Some((findings, progress, write, comparison)))
}

impl Stream for Verify<'_> {
    type Item = Result<Finding>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(finding) = self.findings.pop_front() {
                return Poll::Ready(Some(Ok(finding)));
            }
            if let Some((write, comparison)) = self.next.take() {
                // Every finding before this position was returned.
                self.cursor = comparison.cursor().map(str::to_owned);
                self.report();
                self.page = Some(Box::pin(next_page(write, comparison, self.progress.clone())));
            }
            let Self { page: Some(page), operation, .. } = &mut *self else { return Poll::Ready(None) };
            let polled =
                operation.poll(|| page.as_mut().poll(context).map(Result::transpose), |read| read.as_ref().err());
            let read = std::task::ready!(polled).transpose();
            self.page = None;
            match read {
                Ok(Some((findings, progress, write, comparison))) => {
                    (self.findings, self.progress) = (findings.into(), progress);
                    self.next = Some((Ok(write), comparison));
                }
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<'a> IntoFuture for Verify<'a> {
    type Output = Result<Verified>;
    type IntoFuture = BoxFuture<'a, Result<Verified>>;

    fn into_future(mut self) -> Self::IntoFuture {
        let running = mem::take(&mut self.operation).into_running();
        Box::pin(observed(running, async move {
            let mut findings = Vec::new();
            while let Some(finding) = self.next().await {
                findings.push(finding?);
            }
            let Progress { entities, index_rows, .. } = self.progress;
            Ok(Verified { entities, index_rows, findings })
        }))
    }
}

impl fmt::Debug for Verify<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl Tables {
    /// Reads all entities and all rows of their indexes, and returns the problems that crashed writers and other programs
    /// left: all of them when it is awaited, or one by one as a stream. It writes nothing, so to drop it does no harm. It
    /// can run beside writers: a problem is checked twice before it is returned, so that a write in progress is
    /// none. Only an insert in progress is returned as [`Finding::Pending`], because slow and dead writers look alike.
    ///
    /// # Requests and memory
    /// It reads the entities and the index rows in pages of up to 1000, and compares them by hashes. A row that is
    /// right costs no request of its own: `e` entities with `n` rows in their indexes take `⌈e ÷ 1000⌉ + ⌈n ÷ 1000⌉`
    /// requests, with each index rounded by itself, and one more for each further row of a list. If rows are missing,
    /// the entities are read once more. Each row that differs is examined with a few reads of its own.
    ///
    /// A hash takes 16 bytes for each index row, up to a bound of 64 MiB, which is enough for 4.2 million rows. With
    /// more rows, or less [`memory`](Verify::memory), it takes several passes, each of which reads all rows and
    /// compares one range of the hashes. The findings are the same; their order is not.
    ///
    /// A million entities with three indexes, in memory: 4,000 requests and 46 MiB in one pass; with 16 MiB, 16,000
    /// requests in four passes.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// let verified = tables.verify::<Post>().memory(256 << 20).await?;
    /// println!("{} posts", verified.entities);
    /// for finding in verified.findings {
    ///     println!("{finding}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The store's errors. A row that cannot be read is a [finding](Finding::Foreign).
    pub fn verify<'a, E: TableEntity>(&self) -> Verify<'a> {
        let schema = Schema::of::<E>();
        let comparison = IndexComparison::new(self.backend().clone(), schema, "verify", MEMORY);
        Verify {
            next: Some((Write::new(self.clone(), schema), comparison)),
            page: None,
            findings: VecDeque::new(),
            progress: Progress::default(),
            on_progress: None,
            cursor: None,
            operation: ObservedStream::new(self.begin_operation(|| schema.operation("verify"))),
        }
    }
}
