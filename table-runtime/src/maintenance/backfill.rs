//! Backfill: building an index that was added to an entity with rows.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    future::IntoFuture,
};

use super::{
    finding::Finding,
    progress::{Progress, ProgressCallback},
    repair::Repairer,
    scan::LayoutScan,
    verify::Inspector,
};
use crate::{
    Error, Properties, QueryError, Result, RowRef, TableEntity, Tables,
    backend::{Action, BoxFuture, Group, IfMatch, Operation},
    index::{EncodedRow, FoundEntity, IndexRows, Precondition, Schema, Write, WrittenRow},
    layout::Holds,
    limits, pacing,
    row::RowKeys,
};

/// A backfill, which runs when it is awaited: see [`Tables::backfill`].
#[must_use = "a backfill does nothing until it is awaited"]
pub struct Backfill {
    tables: Tables,
    schema: Schema,
    layout: Result<usize>,
    scan: LayoutScan,
    dry_run: bool,
    on_progress: ProgressCallback,
}

/// The result of a backfill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backfilled {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of entities whose row in the index was written; in a dry run, number of entities without such a row.
    pub written: usize,
    /// Entities that share a value of a unique index with another one. As long as there are any, the index is not
    /// ready: change one of the two, and run the backfill again.
    pub conflicts: Vec<Finding>,
    /// `true` if queries may use the index from now on. A backfill that [continues](Backfill::from) an earlier one also
    /// counts the conflicts before its cursor, but does not list them again.
    pub ready: bool,
}

impl Backfill {
    /// Continues an earlier backfill of the same index at its [`Progress::cursor`].
    ///
    /// # Errors
    /// Returns [`Error::Cursor`] for a text that is not such a cursor, for a cursor of another index, and for a cursor
    /// from before a change of the entity's keys or indexes.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        self.scan.resume(cursor)?;
        Ok(self)
    }

    /// Writes nothing, and counts the entities without a row in the index.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Reports the progress after each page.
    pub fn progress(mut self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }
}

impl IntoFuture for Backfill {
    type Output = Result<Backfilled>;
    type IntoFuture = BoxFuture<'static, Result<Backfilled>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(run(self))
    }
}

async fn run(Backfill { tables, schema, layout, mut scan, dry_run, mut on_progress }: Backfill) -> Result<Backfilled> {
    let layout = layout?;
    let write = Write::new(tables.clone(), schema)?;
    let info = &schema.layouts[layout];
    let begun = if dry_run { None } else { Some(tables.begin_index(schema, info).await?) };
    if let Some(begun) = &begun {
        scan.bind(&begun.version)?;
    }
    let (mut filled, mut progress) = (Backfilled::default(), Progress::default());
    while let Some(page) = scan.next().await? {
        let mut found = Vec::with_capacity(page.rows.len());
        for row in page.rows.iter().map(RowRef::to_row) {
            // The writer of a pending entity knows the index and writes its row.
            found.extend(schema.read(row)?.filter(|found| found.pending.is_none()));
        }
        filled.entities += found.len();
        found.retain(|found| found.encoded.row(layout).is_some());
        if dry_run {
            filled.written += Backfiller(&write).count_missing(layout, &found).await?;
        } else {
            Backfiller(&write).fill(layout, found, &mut filled).await?;
            if !filled.conflicts.is_empty() {
                scan.note_conflict();
            }
        }
        progress.entities = filled.entities;
        progress.findings = filled.written + filled.conflicts.len();
        progress.fixed = if dry_run { 0 } else { filled.written };
        progress.cursor = scan.cursor();
        if let Some(report) = &mut on_progress {
            report(&progress);
        }
        pacing::yield_now().await;
    }
    if let Some(begun) = begun.filter(|_| !scan.has_conflicts()) {
        tables.complete_index(schema, info, &begun).await?;
        filled.ready = true;
    }
    Ok(filled)
}

impl fmt::Debug for Backfill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cursor = self.scan.cursor();
        f.debug_struct("Backfill").field("cursor", &cursor).field("dry_run", &self.dry_run).finish_non_exhaustive()
    }
}

impl Tables {
    /// Builds an index that was added to an entity whose table already has rows. Afterwards queries may use the index.
    ///
    /// Every program that writes the entity must know the index before the backfill begins, and may continue to write
    /// during it. If a program without the index calls `create` meanwhile, the backfill ends with
    /// [`Error::IndexBuilding`] and has to run again, from the beginning. The backfill writes the index rows in bulk. It then gives each entity a new version, on the condition
    /// that the entity still has the version that was read; if the entity has changed, the backfill reads it again. A
    /// backfill can be stopped and continued from its [cursor](Backfill::from), and it can be run again. Await it.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String, likes: u32 }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// let missing = tables.backfill::<Post>("title").dry_run().await?.written;
    /// println!("{missing} to write");
    /// let filled = tables.backfill::<Post>("title").progress(|progress| println!("{}", progress.entities)).await?;
    /// assert_eq!(filled.conflicts, []);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Query`] if there is no index of this name, the errors of the store, and errors for rows that do
    /// not fit the struct.
    pub fn backfill<E: TableEntity>(&self, index: &str) -> Backfill {
        let schema = Schema::of::<E>();
        let layout = (1..schema.layouts.len()).find(|layout| schema.layouts[*layout].name == index);
        let layout = layout.ok_or_else(|| {
            let names: Vec<_> = schema.layouts.iter().skip(1).map(|layout| format!("`{}`", layout.name)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let problem = format!("there is no index `{index}`; there is {known}");
            Error::from(Box::new(QueryError { table: schema.table().to_owned(), layout: "key", problem }))
        });
        let job = format!("backfill {index}");
        let scan = LayoutScan::new(self.backend().clone(), schema, &job, [0]);
        Backfill { tables: self.clone(), schema, layout, scan, dry_run: false, on_progress: None }
    }
}

/// Maximum number of operations of one transaction.
const OPERATIONS: usize = limits::OPERATIONS;

/// The writes of the rows of one index.
struct Backfiller<'a>(&'a Write);

impl Backfiller<'_> {
    async fn count_missing(&self, layout: usize, found: &[FoundEntity]) -> Result<usize> {
        let inspector = Inspector(self.0);
        let mut checks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(found.len());
        for found in found {
            checks.push(Box::pin(inspector.missing(found, layout)));
        }
        Ok(pacing::concurrently(checks).await?.into_iter().flatten().count())
    }

    /// Writes the rows of these entities in an index.
    async fn fill(&self, layout: usize, found: Vec<FoundEntity>, filled: &mut Backfilled) -> Result<()> {
        let again = if self.0.schema.holds(layout) == Holds::List {
            found.into_iter().map(|found| (found, None)).collect()
        } else if self.0.schema.layouts[layout].is_same_partition() {
            self.fill_same_partition(layout, found, filled).await?
        } else {
            self.fill_cross_partition(layout, found, filled).await?
        };
        // Rows that were not written in bulk are written one by one. Entities of one partition may share a list.
        let mut partitions: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (found, written) in again {
            partitions.entry(found.row.partition_key.clone()).or_default().push((found, written));
        }
        let mut fills: Vec<BoxFuture<'_, _>> = Vec::with_capacity(partitions.len());
        for found in partitions.into_values() {
            fills.push(Box::pin(self.fill_one_by_one(layout, found)));
        }
        for (written, conflicts) in pacing::concurrently(fills).await? {
            filled.written += written;
            filled.conflicts.extend(conflicts);
        }
        Ok(())
    }

    async fn fill_one_by_one(
        &self,
        layout: usize,
        found: Vec<(FoundEntity, Option<WrittenRow>)>,
    ) -> Result<(usize, Vec<Finding>)> {
        let (mut count, mut conflicts) = (0, Vec::new());
        for (found, written) in found {
            let keys = &found.encoded.primary().keys;
            // An earlier run or a writer may have written the row.
            if written.is_none() && Inspector(self.0).missing(&found, layout).await?.is_none() {
                continue;
            }
            match Repairer(self.0).reindex(keys, layout, written.into_iter().collect()).await {
                Ok(written) => count += usize::from(written),
                Err(Error::UniqueViolation(violation)) => {
                    conflicts.push(Finding::two_owners(*violation));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((count, conflicts))
    }

    /// Writes index rows in the entities' own partitions, each in one transaction with a new version of its entity.
    /// Returns the entities for which that was not possible.
    async fn fill_same_partition(
        &self,
        layout: usize,
        found: Vec<FoundEntity>,
        filled: &mut Backfilled,
    ) -> Result<Vec<(FoundEntity, Option<WrittenRow>)>> {
        let mut groups: Vec<BoxFuture<'_, _>> = Vec::new();
        for found in chunks(found, OPERATIONS / 2) {
            let operations = found.iter().flat_map(|found| self.fill_operations(layout, found)).collect();
            groups.push(Box::pin(self.execute_for(found, operations)));
        }
        let mut again = Vec::new();
        for (found, written) in pacing::concurrently(groups).await? {
            if written {
                filled.written += found.len();
            } else {
                again.extend(found.into_iter().map(|found| (found, None)));
            }
        }
        Ok(again)
    }

    /// Writes index rows in other partitions, then gives each entity a new version. Returns the entities that changed
    /// meanwhile, with the row that was written.
    async fn fill_cross_partition(
        &self,
        layout: usize,
        found: Vec<FoundEntity>,
        filled: &mut Backfilled,
    ) -> Result<Vec<(FoundEntity, Option<WrittenRow>)>> {
        let mut again = Vec::new();
        let mut rows = if self.0.schema.is_unique(layout) {
            self.claim_all(layout, &found).await?
        } else {
            self.fill_rows(layout, &found).await?
        };
        let (kept, conflicting): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| rows.contains_key(&found.encoded.primary().keys));
        again.extend(conflicting.into_iter().map(|found| (found, None)));
        let mut groups: Vec<BoxFuture<'_, _>> = Vec::new();
        for found in chunks(kept, OPERATIONS) {
            let operations = found.iter().map(fence).collect();
            groups.push(Box::pin(self.execute_for(found, operations)));
        }
        for (found, fenced) in pacing::concurrently(groups).await? {
            if fenced {
                filled.written += found.len();
            } else {
                again.extend(found.into_iter().map(|found| {
                    let written = rows.remove(&found.encoded.primary().keys);
                    (found, written)
                }));
            }
        }
        Ok(again)
    }

    /// Writes the rows of a unique index, and returns them by their entities. An entity without one has a value that
    /// belongs to another entity, or has changed.
    async fn claim_all(&self, layout: usize, found: &[FoundEntity]) -> Result<HashMap<RowKeys, WrittenRow>> {
        let mut claims: Vec<BoxFuture<'_, _>> = Vec::with_capacity(found.len());
        for found in found {
            claims.push(Box::pin(self.claim(layout, found)));
        }
        Ok(pacing::concurrently(claims).await?.into_iter().flatten().collect())
    }

    async fn claim(&self, layout: usize, found: &FoundEntity) -> Result<Option<(RowKeys, WrittenRow)>> {
        let write = self.0.with_new_id()?;
        match IndexRows(&write).write(&found.encoded, &[layout], Precondition::Version(&found.row.etag)).await {
            Ok(mut written) => Ok(written.pop().map(|row| (found.encoded.primary().keys.clone(), row))),
            Err((Error::UniqueViolation(_) | Error::ConditionNotMet(_), _)) => Ok(None),
            Err((error, _)) => Err(error),
        }
    }

    /// Writes the rows of an index that is not unique, and returns them by their entities. If an entity has none in the
    /// result, its transaction failed, or the outcome is unknown.
    async fn fill_rows(&self, layout: usize, found: &[FoundEntity]) -> Result<HashMap<RowKeys, WrittenRow>> {
        let table = self.0.schema.layouts[layout].table;
        let mut partitions: BTreeMap<&str, Vec<(&FoundEntity, &EncodedRow)>> = BTreeMap::new();
        for (found, row) in found.iter().filter_map(|found| Some((found, found.encoded.row(layout)?))) {
            partitions.entry(&row.keys.partition_key).or_default().push((found, row));
        }
        let mut groups: Vec<BoxFuture<'_, _>> = Vec::new();
        for rows in partitions.values().flat_map(|rows| rows.chunks(OPERATIONS)) {
            groups.push(Box::pin(self.fill_row_group(layout, table, rows)));
        }
        Ok(pacing::concurrently(groups).await?.into_iter().flatten().collect())
    }

    /// Writes rows of one partition in one transaction. Returns no rows if the transaction can be tried in parts.
    async fn fill_row_group(
        &self,
        layout: usize,
        table: &'static str,
        rows: &[(&FoundEntity, &EncodedRow)],
    ) -> Result<Vec<(RowKeys, WrittenRow)>> {
        let operation = |row: &EncodedRow| Operation {
            row_key: row.keys.row_key.clone(),
            action: Action::Upsert(row.properties.clone()),
        };
        let operations = rows.iter().map(|(_, row)| operation(row)).collect();
        let partition_key = rows.first().map(|(_, row)| row.keys.partition_key.clone()).unwrap_or_default();
        let group = Group { table: table.into(), partition_key, operations };
        if group.check().is_err() {
            return Ok(Vec::new());
        }
        let etags = match self.0.backend().execute(&group).await {
            Ok(etags) => etags,
            Err(Error::Limit(_) | Error::OutcomeUnknown(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let written = rows.iter().zip(etags).filter_map(|((found, row), etag)| {
            let written = WrittenRow { layout, keys: row.keys.clone(), etag: etag? };
            Some((found.encoded.primary().keys.clone(), written))
        });
        Ok(written.collect())
    }

    /// Returns the operations that give an entity a new version and write its row in an index.
    fn fill_operations(&self, layout: usize, found: &FoundEntity) -> Vec<Operation> {
        let row = found.encoded.row(layout).map(|row| {
            let properties = row.properties.clone();
            let unique = self.0.schema.is_unique(layout);
            let action = if unique { Action::Insert(properties) } else { Action::Upsert(properties) };
            Operation { row_key: row.keys.row_key.clone(), action }
        });
        [fence(found)].into_iter().chain(row).collect()
    }

    /// Executes a transaction on the partition of these entities. Returns false if it was not applied as a whole and
    /// can be tried in parts.
    async fn execute_for(
        &self,
        found: Vec<FoundEntity>,
        operations: Vec<Operation>,
    ) -> Result<(Vec<FoundEntity>, bool)> {
        let partition_key = found.first().map(|found| found.row.partition_key.clone()).unwrap_or_default();
        let group = Group { table: self.0.schema.table().into(), partition_key, operations };
        if group.check().is_err() {
            return Ok((found, false));
        }
        match self.0.backend().execute(&group).await {
            Ok(_) => Ok((found, true)),
            Err(
                Error::AlreadyExists(_)
                | Error::NotFound(_)
                | Error::ConditionNotMet(_)
                | Error::Limit(_)
                | Error::OutcomeUnknown(_),
            ) => Ok((found, false)),
            Err(error) => Err(error),
        }
    }
}

/// Returns the operation that gives an entity a new version and changes nothing else.
fn fence(found: &FoundEntity) -> Operation {
    let action = Action::Merge(Properties::default(), IfMatch::ETag(found.row.etag.clone()));
    Operation { row_key: found.row.row_key.clone(), action }
}

/// Divides the entities into chunks of one partition, with at most `size` entities each.
fn chunks(found: Vec<FoundEntity>, size: usize) -> Vec<Vec<FoundEntity>> {
    let mut chunks: Vec<Vec<FoundEntity>> = Vec::new();
    for found in found {
        match chunks.last_mut() {
            Some(chunk)
                if chunk.len() < size
                    && chunk.last().is_some_and(|last| last.row.partition_key == found.row.partition_key) =>
            {
                chunk.push(found);
            }
            _ => chunks.push(vec![found]),
        }
    }
    chunks
}
