//! Building an index that was added later.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    future::IntoFuture,
};

use super::{
    finding::Finding,
    progress::{Progress, Told},
    schema::{EncodedRow, Found, Schema},
    sweep::Sweep,
    upkeep::{Mine, Upkeep, Written},
};
use crate::{
    Error, Properties, QueryError, Result, RowRef, TableEntity, Tables,
    backend::{Action, BoxFuture, Group, IfMatch, Operation},
    layout::{Holds, Scope},
    limits, pacing,
    row::RowKeys,
};

/// A backfill, which runs when it is awaited: see [`Tables::backfill`].
#[must_use = "a backfill does nothing until it is awaited"]
pub struct Backfill {
    tables: Tables,
    schema: Schema,
    layout: Result<usize>,
    sweep: Sweep,
    dry_run: bool,
    told: Told,
}

/// What a backfill did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backfilled {
    /// The entities that were looked at.
    pub entities: usize,
    /// The entities whose row in the index was written; in a dry run, those that have none.
    pub written: usize,
    /// Entities that share a value of a unique index with another one. As long as there are any, the index is not
    /// ready: change one of the two, and backfill again.
    pub conflicts: Vec<Finding>,
    /// Whether queries may use the index from here on. It goes through all entities, those before the cursor that it
    /// went [on from](Backfill::from) included, whose conflicts are not named again.
    pub ready: bool,
}

impl Backfill {
    /// Goes on where another backfill of the same index was, by its [`Progress::cursor`].
    ///
    /// # Errors
    /// [`Error::Cursor`] for a text that is no such cursor.
    pub fn from(mut self, cursor: &str) -> Result<Self> {
        self.sweep.resume(cursor)?;
        Ok(self)
    }

    /// Writes nothing, and counts the entities that have no row in the index.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Tells how far it is, after each page.
    pub fn progress(mut self, told: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.told = Some(Box::new(told));
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

async fn run(Backfill { tables, schema, layout, mut sweep, dry_run, mut told }: Backfill) -> Result<Backfilled> {
    let layout = layout?;
    let upkeep = Upkeep::new(tables.clone(), schema)?;
    let info = &schema.layouts[layout];
    if !dry_run {
        tables.begin_index(schema, info).await?;
    }
    let (mut filled, mut progress) = (Backfilled::default(), Progress::default());
    while let Some(swept) = sweep.next().await? {
        let mut found = Vec::with_capacity(swept.rows.len());
        for row in swept.rows.iter().map(RowRef::to_row) {
            // The writer of a pending entity knows the index.
            found.extend(schema.read(row)?.filter(|found| found.pending.is_none()));
        }
        filled.entities += found.len();
        found.retain(|found| found.encoded.row(layout).is_some());
        if dry_run {
            filled.written += upkeep.count_missing(layout, &found).await?;
        } else {
            upkeep.fill(layout, found, &mut filled).await?;
            sweep.leave(!filled.conflicts.is_empty());
        }
        progress.entities = filled.entities;
        progress.fixed = filled.written;
        progress.cursor = sweep.cursor();
        if let Some(told) = &mut told {
            told(&progress);
        }
        pacing::yield_now().await;
    }
    if !dry_run && !sweep.left() {
        tables.complete_index(schema, info).await?;
        filled.ready = true;
    }
    Ok(filled)
}

impl fmt::Debug for Backfill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cursor = self.sweep.cursor();
        f.debug_struct("Backfill").field("cursor", &cursor).field("dry_run", &self.dry_run).finish_non_exhaustive()
    }
}

impl Tables {
    /// Builds an index that was added to an entity whose table has rows already, and then lets queries use it.
    ///
    /// Every program that writes the entity must know the index before this begins. It runs beside them: it writes the
    /// rows in bulk, and gives each entity a new version under the one that it read, so that a change meanwhile is seen
    /// and looked at again. It may be stopped and goes on from its [cursor](Backfill::from); to run it again does no
    /// harm. Await it.
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
    /// [`Error::Query`] if there is no index of this name; what the store says, and rows that do not fit the struct.
    pub fn backfill<E: TableEntity>(&self, index: &str) -> Backfill {
        let schema = Schema::of::<E>();
        let layout = (1..schema.layouts.len()).find(|layout| schema.layouts[*layout].name == index);
        let layout = layout.ok_or_else(|| {
            let names: Vec<_> = schema.layouts.iter().skip(1).map(|layout| format!("`{}`", layout.name)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let problem = format!("there is no index `{index}`; there is {known}");
            Error::from(Box::new(QueryError { table: schema.table().to_owned(), layout: "key", problem }))
        });
        let sweep = Sweep::new(self.backend().clone(), schema, [0]);
        Backfill { tables: self.clone(), schema, layout, sweep, dry_run: false, told: None }
    }
}

/// The operations of one transaction at most.
const OPERATIONS: usize = limits::OPERATIONS;

impl Upkeep {
    async fn count_missing(&self, layout: usize, found: &[Found]) -> Result<usize> {
        let mut looks: Vec<BoxFuture<'_, _>> = Vec::with_capacity(found.len());
        for found in found {
            looks.push(Box::pin(self.missing(found, layout..=layout)));
        }
        let missing: Vec<Vec<_>> = pacing::concurrently(looks).await?;
        Ok(missing.iter().filter(|faults| !faults.is_empty()).count())
    }

    /// Writes the rows of these entities in an index.
    async fn fill(&self, layout: usize, found: Vec<Found>, filled: &mut Backfilled) -> Result<()> {
        let info = self.schema.layouts[layout].index.as_ref();
        let same_partition = info.is_some_and(|index| index.scope == Scope::SamePartition);
        let again = if self.schema.holds(layout) == Holds::List {
            found.into_iter().map(|found| (found, None)).collect()
        } else if same_partition {
            self.fill_with_entities(layout, found, filled).await?
        } else {
            self.fill_elsewhere(layout, found, filled).await?
        };
        // What did not go through in bulk is tried one by one; entities of one partition may share a list.
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
        found: Vec<(Found, Option<Written>)>,
    ) -> Result<(usize, Vec<Finding>)> {
        let (mut count, mut conflicts) = (0, Vec::new());
        for (found, written) in found {
            let keys = &found.encoded.primary().keys;
            // The row may be there already: of a run before, or of a writer.
            if written.is_none() && self.missing(&found, layout..=layout).await?.is_empty() {
                continue;
            }
            match self.reindex(keys, &[layout], written.into_iter().collect()).await {
                Ok(written) => count += usize::from(written),
                Err(Error::UniqueViolation(violation)) => {
                    conflicts.push(Finding::two_owners(*violation));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((count, conflicts))
    }

    /// Writes the rows of an index in the entities' own partitions, each in one transaction with a new version of its
    /// entity. Gives those for which that was not possible.
    async fn fill_with_entities(
        &self,
        layout: usize,
        found: Vec<Found>,
        filled: &mut Backfilled,
    ) -> Result<Vec<(Found, Option<Written>)>> {
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

    /// Writes the rows of an index in other partitions, then gives each entity a new version. Gives those that changed
    /// meanwhile, with the row that was written.
    async fn fill_elsewhere(
        &self,
        layout: usize,
        found: Vec<Found>,
        filled: &mut Backfilled,
    ) -> Result<Vec<(Found, Option<Written>)>> {
        let mut again = Vec::new();
        let mut rows = if self.schema.is_unique(layout) {
            self.fill_claims(layout, &found).await?
        } else {
            self.fill_rows(layout, &found).await?
        };
        let (kept, conflicting): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| rows.contains_key(&found.encoded.primary().keys));
        again.extend(conflicting.into_iter().map(|found| (found, None)));
        let mut groups: Vec<BoxFuture<'_, _>> = Vec::new();
        for found in chunks(kept, OPERATIONS) {
            let operations = found.iter().map(touch).collect();
            groups.push(Box::pin(self.execute_for(found, operations)));
        }
        for (found, touched) in pacing::concurrently(groups).await? {
            if touched {
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

    /// The rows of a unique index, by their entities; those without one have a value that another entity has.
    async fn fill_claims(&self, layout: usize, found: &[Found]) -> Result<HashMap<RowKeys, Written>> {
        let mut claims: Vec<BoxFuture<'_, _>> = Vec::with_capacity(found.len());
        for found in found {
            claims.push(Box::pin(self.fill_claim(layout, found)));
        }
        Ok(pacing::concurrently(claims).await?.into_iter().flatten().collect())
    }

    async fn fill_claim(&self, layout: usize, found: &Found) -> Result<Option<(RowKeys, Written)>> {
        match self.another()?.write_rows(&found.encoded, &[layout], Mine::Version(&found.row.etag)).await {
            Ok(mut written) => Ok(written.pop().map(|row| (found.encoded.primary().keys.clone(), row))),
            Err((Error::UniqueViolation(_) | Error::ConditionNotMet(_), _)) => Ok(None),
            Err((error, _)) => Err(error),
        }
    }

    /// The rows of an index that is not unique, by their entities; of those without one, the transaction did not go
    /// through, or nobody knows whether it did.
    async fn fill_rows(&self, layout: usize, found: &[Found]) -> Result<HashMap<RowKeys, Written>> {
        let table = self.schema.layouts[layout].table;
        let mut partitions: BTreeMap<&str, Vec<(&Found, &EncodedRow)>> = BTreeMap::new();
        for (found, row) in found.iter().filter_map(|found| Some((found, found.encoded.row(layout)?))) {
            partitions.entry(&row.keys.0).or_default().push((found, row));
        }
        let mut groups: Vec<BoxFuture<'_, _>> = Vec::new();
        for rows in partitions.values().flat_map(|rows| rows.chunks(OPERATIONS)) {
            groups.push(Box::pin(self.fill_row_group(layout, table, rows)));
        }
        Ok(pacing::concurrently(groups).await?.into_iter().flatten().collect())
    }

    /// Rows of one partition, in one transaction; none, if it can be tried in parts.
    async fn fill_row_group(
        &self,
        layout: usize,
        table: &'static str,
        rows: &[(&Found, &EncodedRow)],
    ) -> Result<Vec<(RowKeys, Written)>> {
        let operation = |row: &EncodedRow| Operation {
            row_key: row.keys.1.clone(),
            action: Action::Upsert(row.properties.clone()),
        };
        let operations = rows.iter().map(|(_, row)| operation(row)).collect();
        let partition_key = rows.first().map(|(_, row)| row.keys.0.clone()).unwrap_or_default();
        let group = Group { table: table.into(), partition_key, operations };
        if group.check().is_err() {
            return Ok(Vec::new());
        }
        let etags = match self.backend().execute(&group).await {
            Ok(etags) => etags,
            Err(Error::Limit(_) | Error::OutcomeUnknown(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let written = rows.iter().zip(etags).filter_map(|((found, row), etag)| {
            let written = Written { layout, keys: row.keys.clone(), etag: etag? };
            Some((found.encoded.primary().keys.clone(), written))
        });
        Ok(written.collect())
    }

    /// A new version of an entity, and its row in an index.
    fn fill_operations(&self, layout: usize, found: &Found) -> Vec<Operation> {
        let row = found.encoded.row(layout).map(|row| {
            let properties = row.properties.clone();
            let unique = self.schema.is_unique(layout);
            let action = if unique { Action::Insert(properties) } else { Action::Upsert(properties) };
            Operation { row_key: row.keys.1.clone(), action }
        });
        [touch(found)].into_iter().chain(row).collect()
    }

    /// Carries out a transaction on the partition of these entities, and says whether it went through; if it did not,
    /// it can be tried in parts.
    async fn execute_for(&self, found: Vec<Found>, operations: Vec<Operation>) -> Result<(Vec<Found>, bool)> {
        let partition_key = found.first().map(|found| found.row.partition_key.clone()).unwrap_or_default();
        let group = Group { table: self.schema.table().into(), partition_key, operations };
        if group.check().is_err() {
            return Ok((found, false));
        }
        match self.backend().execute(&group).await {
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

/// A new version of an entity, and nothing else.
fn touch(found: &Found) -> Operation {
    let action = Action::Merge(Properties::default(), IfMatch::ETag(found.row.etag.clone()));
    Operation { row_key: found.row.row_key.clone(), action }
}

/// Entities of one partition, so many at most.
fn chunks(found: Vec<Found>, size: usize) -> Vec<Vec<Found>> {
    let mut chunks: Vec<Vec<Found>> = Vec::new();
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
