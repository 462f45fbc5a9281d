//! Sweep: removing entities that have expired, or that were put into the bin long ago.

use std::{borrow::Cow, collections::HashSet, fmt, future::IntoFuture, ops::Bound, time::Duration};

use futures_util::stream;
use table_store::{
    Error, Result, Row, Ticks,
    backend::{BoxFuture, KeyRange, Partitions},
    unstable::{observe::observed, order},
};

use super::scan::{LayoutScan, Narrowed, all_rows};
use crate::{
    client::{pacing, tables::Tables},
    model::{
        codec::is_unreadable,
        key::hash::bucket,
        layout::{Encoding, Holds, LayoutInfo, PartInfo},
        lifecycle::{SoftDelete, Sweepable, Sweepings},
    },
    write::{
        bulk::is_of_entity,
        index::{EntityWrite, FoundEntity, Schema, Write},
    },
};

/// Closure that receives the progress.
type SweepCallback<'a> = Option<Box<dyn FnMut(&SweepProgress) + Send + 'a>>;

/// A sweep, which runs when it is awaited: see [`Tables::sweep`].
#[must_use = "a sweep does nothing until it is awaited"]
pub struct Sweep<'a, E> {
    tables: Tables,
    schema: Schema,
    /// The least time in the bin after which an entity is removed.
    in_bin: Option<Duration>,
    dry_run: bool,
    resumed: Option<String>,
    on_progress: SweepCallback<'a>,
    entity: std::marker::PhantomData<fn() -> E>,
}

/// The progress of a sweep. It is reported after each page of up to 1000 rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepProgress {
    /// Number of entities that were found to have expired, or to be in the bin for long enough.
    pub found: usize,
    /// Number of them that were removed: 0 for a dry run. Other writers renewed or removed the others meanwhile.
    pub removed: usize,
    /// Number of rows that could not be read. [`verify`](Tables::verify) reports them.
    pub unreadable: usize,
    /// Number of entities that could not be removed, for instance because a row of one of their indexes is damaged. The
    /// traces have the errors.
    pub left: usize,
    /// The cursor from which the sweep continues if it is stopped now. Everything before it is done. `None` before the first
    /// row.
    pub cursor: Option<String>,
}

impl<'a, E> Sweep<'a, E> {
    /// Finds the entities, and removes none of them.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Continues an earlier sweep of the same entity at its [`SweepProgress::cursor`].
    ///
    /// # Errors
    /// When it is awaited, the sweep returns [`Error::Cursor`] for a text that is not such a cursor, and for a cursor from
    /// before a change of the entity's keys or indexes.
    pub fn from(mut self, cursor: &str) -> Self {
        self.resumed = Some(cursor.to_owned());
        self
    }

    /// Reports the progress after each page.
    pub fn progress(mut self, report: impl FnMut(&SweepProgress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(report));
        self
    }

    /// Removes also the entities that were [put into the bin](Tables::soft_delete) at least this long ago.
    pub fn deleted_before(mut self, age: Duration) -> Self
    where
        E: SoftDelete,
    {
        self.in_bin = Some(age);
        self
    }
}

impl<'a, E> IntoFuture for Sweep<'a, E> {
    type Output = Result<SweepProgress>;
    type IntoFuture = BoxFuture<'a, Result<SweepProgress>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { tables, schema, in_bin, dry_run, resumed, on_progress, .. } = self;
        let running = tables.begin_operation(|| schema.operation("sweep"));
        Box::pin(observed(running, run(tables, schema, (in_bin, dry_run), resumed, on_progress)))
    }
}

impl<E> fmt::Debug for Sweep<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweep").field("table", &self.schema.table()).finish_non_exhaustive()
    }
}

impl Tables {
    /// Removes the entities that have expired, with their index rows: those whose time in the field of
    /// `#[table(expires = field)]` has passed by the store's clock. Readers do not see them in any case; the sweep frees their
    /// storage. [`deleted_before`](Sweep::deleted_before) empties the bin as well.
    ///
    /// It removes each entity in the version that it has read, with the steps of a [`delete`](Self::delete). So it runs
    /// beside writers at any time, and never removes an entity that was renewed meanwhile. To drop its future does no harm.
    ///
    /// It scans the entity's tables with a condition on the time, a request for each 1000 rows. If the entity has an index in
    /// other partitions that begins with the field, such as `#[index(at, partition(id(hash = 16)), row(at))]`, or
    /// `partition(at)`, it reads the rows of that index that have expired, and no others.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(expires = until)]
    /// struct Session {
    ///     #[partition_key]
    ///     user: String,
    ///     #[row_key]
    ///     token: String,
    ///     until: SystemTime,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Session>().await?;
    /// let now = SystemTime::now();
    /// for (token, until) in [("old", now - Duration::from_secs(1)), ("new", now + Duration::from_secs(3600))] {
    ///     tables.insert(&Session { user: "ada".into(), token: token.into(), until }).await?;
    /// }
    /// assert_eq!(Session::by_key("ada").count(&tables).await?, 1);
    /// assert_eq!(tables.sweep::<Session>().await?.removed, 1);
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns the store's errors, those of removals as [`Error::Bulk`]. What was removed before stays removed.
    pub fn sweep<'a, E: Sweepable>(&self) -> Sweep<'a, E> {
        Sweep {
            tables: self.of_primary(),
            schema: Schema::of::<E>(),
            in_bin: None,
            dry_run: false,
            resumed: None,
            on_progress: None,
            entity: std::marker::PhantomData,
        }
    }
}

async fn run(
    tables: Tables,
    schema: Schema,
    (in_bin, dry_run): (Option<Duration>, bool),
    resumed: Option<String>,
    mut on_progress: SweepCallback<'_>,
) -> Result<SweepProgress> {
    let write = Write::new(tables.clone(), schema)?;
    let now = tables.backend().earliest();
    let sweepings = Sweepings { lifecycle: schema.lifecycle, in_bin, now };
    if sweepings.condition().is_none() {
        return Ok(SweepProgress::default());
    }
    let by_index = match index_of(&schema, now).filter(|_| in_bin.is_none()) {
        // An index that is being built does not have all entities.
        Some((layout, narrowed)) if write.is_ready(layout).await? => Some((layout, narrowed)),
        _ => None,
    };
    let (layout, narrowed) = by_index.unwrap_or_else(|| (0, expired_rows(&schema, sweepings)));
    let job = format!("sweep {}", schema.layouts[layout].name);
    let mut scan = LayoutScan::new(tables.backend().clone(), schema, &job, [layout]).narrowed(Some(narrowed));
    if let Some(cursor) = resumed {
        scan.resume(&cursor)?;
    }
    let mut progress = SweepProgress::default();
    while let Some(page) = scan.next().await? {
        // An answer of the service may have set the clock back.
        let sweepings = Sweepings { now: now.min(tables.backend().earliest()), ..sweepings };
        let mut found = Vec::new();
        let mut reads: Vec<BoxFuture<'_, Result<Option<FoundEntity>>>> = Vec::new();
        for row in page.rows.iter() {
            reads.push(Box::pin(write.swept(layout, page.table.clone(), row.to_row(), sweepings)));
        }
        for read in pacing::in_waves(reads.into_iter()).await {
            match read {
                Ok(entity) => found.extend(entity),
                Err(error) if is_unreadable(&error) => progress.unreadable += 1,
                Err(error) => return Err(error),
            }
        }
        // A stale row of the index may lead to an entity to which another one leads too.
        let mut seen = HashSet::new();
        found.retain(|entity: &FoundEntity| seen.insert(entity.encoded.primary.keys.clone()));
        progress.found += found.len();
        if !dry_run {
            let (removed, left) = remove(&tables, schema, found).await?;
            (progress.removed, progress.left) = (progress.removed + removed, progress.left + left);
        }
        progress.cursor = scan.cursor();
        if let Some(report) = &mut on_progress {
            report(&progress);
        }
        pacing::yield_now().await;
    }
    Ok(progress)
}

/// Removes entities in the versions that were read. Returns the number of those that it removed, and of those that could not
/// be removed. Other writers renewed or removed the others first.
async fn remove(tables: &Tables, schema: Schema, found: Vec<FoundEntity>) -> Result<(usize, usize)> {
    let writes = found.into_iter().map(|found| Ok(EntityWrite::expire(found)));
    match tables.write_all(schema, "sweep", stream::iter(writes.collect::<Vec<_>>())).run().await {
        Ok(done) => Ok((done.written, 0)),
        Err(Error::Bulk(failed)) if !failed.ended_early => {
            let is_renewed = |error: &Error| matches!(error, Error::ConditionNotMet(_) | Error::NotFound(_));
            let mut left = 0;
            for failure in failed.failures.iter().filter(|failure| !is_renewed(&failure.error)) {
                if !is_of_entity(&failure.error) {
                    return Err(Error::Bulk(failed));
                }
                left += 1;
                let (table, error) = (schema.table(), &failure.error);
                tracing::warn!(target: "table_runtime::sweep", table, %error, "an entity that has expired was left");
            }
            Ok((failed.progress.written, left))
        }
        Err(error) => Err(error),
    }
}

impl Write {
    /// Reads the entity to which a row of a layout belongs; `None` if the sweep does not remove it.
    async fn swept(
        &self,
        layout: usize,
        table: Cow<'static, str>,
        row: Row,
        sweepings: Sweepings<'_>,
    ) -> Result<Option<FoundEntity>> {
        let found = if layout == 0 {
            // The time is read before the rest of the row, which may have another kind.
            if !sweepings.include(&table, row.as_ref())? {
                return Ok(None);
            }
            self.schema.read(row)?
        } else {
            match self.entity(&self.schema.owner(layout, row.as_ref())?).await? {
                Some(found) if sweepings.include(self.schema.table(), found.row.as_ref())? => Some(found),
                _ => None,
            }
        };
        // A pending insert is not the sweep's: its writer commits it, or a repair removes it.
        Ok(found.filter(|found| found.pending.is_none()))
    }
}

/// Returns the rows of the entity's own layout that the sweep removes.
fn expired_rows(schema: &Schema, sweepings: Sweepings<'_>) -> Narrowed {
    let layout = &schema.layouts[0];
    let all = all_rows(layout, layout.table.into());
    Narrowed { partitions: vec![all.partitions], rows: all.rows, filter: sweepings.condition() }
}

/// Returns an index that has the time before any other value, and its rows of entities that have expired.
fn index_of(schema: &Schema, now: Ticks) -> Option<(usize, Narrowed)> {
    let name = schema.lifecycle.expires?;
    let field = schema.fields.iter().find(|field| field.name == name)?.field;
    let is_used = |layout: &LayoutInfo| {
        !layout.is_same_partition()
            && layout.each().is_none()
            // A copy may be missing after a crash.
            && layout.index.as_ref().is_some_and(|index| index.when.is_none() && index.holds != Holds::Copy)
    };
    let layouts = schema.layouts.iter().enumerate().skip(1).filter(|(_, layout)| is_used(layout));
    layouts.into_iter().find_map(|(number, layout)| Some((number, expired_index_rows(layout, field, now)?)))
}

fn expired_index_rows(layout: &LayoutInfo, field: &str, now: Ticks) -> Option<Narrowed> {
    let all = all_rows(layout, layout.table.into());
    let is_time = |part: &PartInfo| part.field == field && part.kind == "time";
    if let Some(first) = layout.partition.first().filter(|first| is_time(first)) {
        let partitions = until(first, layout.partition_prefix, now)?;
        return Some(Narrowed { partitions: vec![Partitions::Range(partitions)], rows: all.rows, filter: None });
    }
    let ([only], Some(first)) = (layout.partition, layout.row.first().filter(|first| is_time(first))) else {
        return None;
    };
    let (count, prefix) = (only.parsed().hash?, layout.partition_prefix);
    let partition = |number| Partitions::One(format!("{prefix}{}", bucket(number, count)));
    let rows = until(first, layout.row_prefix, now)?;
    Some(Narrowed { partitions: (0..count).map(partition).collect(), rows, filter: None })
}

/// Returns the keys whose first part is a time until now.
fn until(part: &PartInfo, prefix: &str, now: Ticks) -> Option<KeyRange> {
    let all = order::prefixed(prefix);
    let key = |ticks: u64| format!("{prefix}{ticks:019}");
    match part.parsed() {
        encoding if encoding.is_reverse_time => {
            Some(KeyRange { from: Bound::Included(key(Ticks::MAX.get() - now.get())), to: all.to })
        }
        encoding if encoding.is_time || encoding == Encoding::PLAIN => {
            Some(KeyRange { from: all.from, to: Bound::Excluded(key(now.get() + 1)) })
        }
        _ => None,
    }
}
