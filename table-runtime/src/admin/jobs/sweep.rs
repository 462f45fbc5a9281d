//! Sweep: removing entities that have expired, or that were put into the bin long ago.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    fmt,
    marker::PhantomData,
    ops::{Bound, ControlFlow},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::stream;
use table_model::{
    HasBin, Holds, LayoutInfo, Lifecycle, PartInfo, Sweepable,
    unstable::{
        codec::is_unreadable,
        key::bucket,
        layout::{Encoding, LayoutExt},
        lifecycle::Sweepings,
    },
};
use table_store::{
    Error, Result, Row, RowId, Ticks,
    backend::{BoxFuture, KeyRange, Partitions, Scan},
    unstable::{RowKeys, client::Client, observe::Running, order},
};

use super::{
    job::{Job, JobKind, JobOptions, OfPartitions, Rehearsable, Resumable, Sharded},
    position::{JobPosition, hash_job},
};
use crate::{
    admin::scan::{ScannedPage, Section, SideBySide, all_rows, sections},
    client::{
        pacing,
        tables::{Tables, lock},
    },
    write::{
        bulk::is_of_entity,
        index::{EntityWrite, FoundEntity, Schema, Write},
    },
};

/// A sweep: see [`Tables::sweep`], and [`Inventory::sweep`](crate::inventory::Inventory::sweep).
pub struct Sweep<'a, E> {
    of: Result<Arc<dyn Sweeping>>,
    job: u64,
    /// The least time in the bin after which an entity is removed.
    in_bin: Option<Duration>,
    on_found: Option<Mutex<FoundCallback<'a>>>,
    entity: PhantomData<fn() -> E>,
}

/// The function that receives the entities that are removed.
type FoundCallback<'a> = Box<dyn FnMut(&RowId) + Send + 'a>;

/// Entities of which some are removed.
pub trait Sweeping: Send + Sync {
    fn client(&self) -> &Arc<Client>;

    fn lifecycle(&self) -> Lifecycle<'_>;

    /// Returns the rows to read, of which those of the layout 0 are entities; `None` if it is not known where they are.
    fn sections<'s>(&'s self, sweepings: Sweepings<'s>) -> BoxFuture<'s, Result<Option<Vec<Section>>>>;

    /// Returns the keys of the entity to which a row that was read belongs.
    fn owner(&self, layout: usize, row: &Row) -> Result<RowKeys>;

    /// Reads this entity; `None` if the sweep does not remove it.
    fn read<'s>(
        &'s self,
        layout: usize,
        table: Cow<'static, str>,
        row: Row,
        sweepings: Sweepings<'s>,
    ) -> BoxFuture<'s, Result<Option<FoundEntity>>>;

    /// Returns the location of an entity.
    fn row_id(&self, table: &str, found: &FoundEntity) -> RowId;

    /// Removes entities of a table in the versions that were read. Of the result, only `removed`, `left` and `unknown` are set.
    fn remove<'s>(&'s self, table: &'s str, found: Vec<FoundEntity>) -> BoxFuture<'s, Result<Swept>>;

    /// Checks whether programs still write the entities as they are described.
    fn is_current(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async { Ok(true) })
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    fn begin(&self) -> Option<Box<Running>> {
        None
    }
}

/// The result of a sweep, and its progress after each page of up to 1000 rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Number of entities that were found to have expired, or to be in the bin for long enough.
    pub found: usize,
    /// Number of them that were removed: 0 for a dry run. Other writers renewed or removed the others meanwhile.
    pub removed: usize,
    /// Number of rows that could not be read. [`verify`](Tables::verify) reports them.
    pub unreadable: usize,
    /// Number of entities that could not be removed, for instance because a row of one of their indexes is damaged. The
    /// traces have the errors.
    pub left: usize,
    /// Number of those whose keys in an index, such as `Post.title`, a sweep [by the
    /// catalog](crate::inventory::Inventory::sweep) could not compute: its field is stored in a form of the program's own, a
    /// row without the property is read with a default, or the row has an older version. [`Tables::sweep`] removes them.
    pub unknown: BTreeMap<String, usize>,
    /// True if the catalog's record of the entity has changed since the inventory was taken. The sweep ended there. Take the
    /// inventory again for the rest.
    pub is_outdated: bool,
    /// The cursor from which the sweep [continues](Job::resume_from) if it is stopped now. Everything before it is done.
    /// `None` before the first row.
    pub cursor: Option<String>,
}

impl<'a, E> Sweep<'a, E> {
    pub(crate) fn new(of: Result<Arc<dyn Sweeping>>, job: u64) -> Self {
        Self { of, job, in_bin: None, on_found: None, entity: PhantomData }
    }
}

impl<E> Resumable for Sweep<'_, E> {
    fn hash(&self) -> u64 {
        self.job
    }
}

impl<E> Rehearsable for Sweep<'_, E> {}
impl<E> OfPartitions for Sweep<'_, E> {}
impl<E> Sharded for Sweep<'_, E> {}

impl<'s, E> JobKind for Sweep<'s, E> {
    type Done = Swept;
    type Error = table_store::Error;
    type Progress = Swept;

    fn begin(&self) -> Option<Box<Running>> {
        self.of.as_ref().ok().and_then(|of| of.begin())
    }

    async fn run(self, mut options: JobOptions<'_, Swept>) -> Result<Swept> {
        let Sweep { of, job, in_bin, on_found, .. } = self;
        let of = &*of?;
        let now = of.client().earliest();
        let sweepings = Sweepings { lifecycle: of.lifecycle(), in_bin, now };
        if sweepings.condition().is_none() {
            return Ok(Swept::default());
        }
        let Some(sections) = of.sections(sweepings).await? else {
            return Ok(Swept { is_outdated: true, ..Swept::default() });
        };
        // A cursor of the rows of an index has no meaning for those of the entities.
        options.layout = sections.first().map_or(0, |section| section.layout);
        let resumed = options.begin()?;
        let (partitions, shard, dry_run) = (options.partitions.clone(), options.shard, options.dry_run);
        let is_own = move |keys: &RowKeys| {
            let key = &keys.partition_key;
            partitions.contains(key) && shard.is_none_or(|shard| shard.has(key))
        };
        // The rows of an index have other partition keys than their entities.
        let mut scan = if options.layout == 0 {
            options.scan(of.client(), sections)
        } else {
            SideBySide::new(of.client().clone(), sections, options.pages(of.client()))
        };
        if let Some(resumed) = &resumed {
            scan = scan.within(&resumed.left);
        }
        let work = |page: ScannedPage| -> BoxFuture<'_, _> {
            let (is_own, on_found) = (&is_own, &on_found);
            Box::pin(async move {
                let mut swept = Swept::default();
                if !of.is_current().await? {
                    swept.is_outdated = true;
                    return Ok(swept);
                }
                // An answer of the service may have set the clock back.
                let sweepings = Sweepings { now: now.min(of.client().earliest()), ..sweepings };
                let mut reads: Vec<BoxFuture<'_, Result<Option<FoundEntity>>>> = Vec::new();
                for row in page.rows() {
                    let (row, table) = (row.to_row(), page.table.clone());
                    reads.push(Box::pin(async move {
                        if page.layout > 0 && !is_own(&of.owner(page.layout, &row)?) {
                            return Ok(None);
                        }
                        of.read(page.layout, table, row, sweepings).await
                    }));
                }
                let mut entities = Vec::new();
                for read in pacing::in_waves(reads.into_iter()).await {
                    match read {
                        Ok(entity) => entities.extend(entity),
                        Err(error) if is_unreadable(&error) => swept.unreadable += 1,
                        Err(error) => return Err(error),
                    }
                }
                // A stale row of the index may lead to an entity to which another one leads too.
                let mut seen = HashSet::new();
                entities.retain(|entity: &FoundEntity| seen.insert(entity.encoded.primary.keys.clone()));
                swept.found = entities.len();
                if let Some(on_found) = on_found {
                    for entity in &entities {
                        (lock(on_found))(&of.row_id(&page.table, entity));
                    }
                }
                if !dry_run {
                    let Swept { found, unreadable, .. } = swept;
                    swept = Swept { found, unreadable, ..of.remove(&page.table, entities).await? };
                }
                Ok(swept)
            })
        };
        let (mut swept, asked) = (Swept::default(), options.asked());
        let done = |scan: &SideBySide, page: Swept| {
            let Swept { found, removed, unreadable, left, unknown, is_outdated, .. } = page;
            if is_outdated {
                swept.is_outdated = true;
                return ControlFlow::Break(());
            }
            swept.found += found;
            swept.removed += removed;
            swept.unreadable += unreadable;
            swept.left += left;
            for (index, count) in unknown {
                *swept.unknown.entry(index).or_default() += count;
            }
            // A page that found the inventory outdated was not swept.
            if !swept.is_outdated {
                swept.cursor = JobPosition::of(job, asked.clone(), scan.left()).text();
                options.report(|| swept.clone());
            }
            ControlFlow::Continue(())
        };
        scan.each(&work, done).await?;
        Ok(swept)
    }
}

impl<'a, E> Job<'a, Sweep<'a, E>> {
    /// Calls the function with each entity that was found, before it is removed.
    pub fn found(self, found: impl FnMut(&RowId) + Send + 'a) -> Self {
        self.with(|sweep, _| sweep.on_found = Some(Mutex::new(Box::new(found))))
    }

    /// Removes also the entities that were [put into the bin](Tables::soft_delete) at least this long ago.
    pub fn deleted_before(self, age: Duration) -> Self
    where
        E: HasBin,
    {
        self.with(|sweep, _| sweep.in_bin = Some(age))
    }
}

impl<E> fmt::Debug for Sweep<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweep").field("in_bin", &self.in_bin).finish_non_exhaustive()
    }
}

impl Tables {
    /// Removes the entities that have expired, with their index rows: those whose time in the field of
    /// `#[table(expires = field)]` has passed by the store's clock. Readers do not see them in any case; the sweep frees their
    /// storage. [`deleted_before`](Job::deleted_before) empties the bin as well.
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
    pub fn sweep<'a, E: Sweepable>(&self) -> Job<'a, Sweep<'a, E>> {
        self.sweep_schema(Schema::of::<E>())
    }

    pub(crate) fn sweep_schema<'a, E>(&self, schema: Schema) -> Job<'a, Sweep<'a, E>> {
        let of = Write::new(self.of_primary(), schema).map(|write| Arc::new(write) as _);
        Job::new(Sweep::new(of, hash_job("sweep", schema.layouts)))
    }
}

/// Removes entities in the versions that were read, and returns how many were removed and left. Other writers renewed or
/// removed the others first.
async fn remove(tables: &Tables, schema: Schema, found: Vec<FoundEntity>) -> Result<Swept> {
    let writes = found.into_iter().map(|found| Ok(EntityWrite::expire(found)));
    match tables.write_all(schema, "sweep", stream::iter(writes.collect::<Vec<_>>())).run().await {
        Ok(done) => Ok(Swept { removed: done.written, ..Swept::default() }),
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
            Ok(Swept { removed: failed.progress.written, left, ..Swept::default() })
        }
        Err(error) => Err(error),
    }
}

/// The entities of one type.
impl Sweeping for Write {
    fn client(&self) -> &Arc<Client> {
        self.tables.backend()
    }

    fn lifecycle(&self) -> Lifecycle<'_> {
        self.schema.lifecycle
    }

    fn sections<'s>(&'s self, sweepings: Sweepings<'s>) -> BoxFuture<'s, Result<Option<Vec<Section>>>> {
        Box::pin(async move {
            let schema = &self.schema;
            if let Some((layout, scans)) = index_of(schema, sweepings.now).filter(|_| sweepings.in_bin.is_none())
                // An index that is being built does not have all entities.
                && self.is_ready(layout).await?
            {
                let section = |scan| Section { layout, scan, is_slice: false };
                return Ok(Some(scans.into_iter().map(section).collect()));
            }
            let mut sections = sections(self.backend(), schema.layouts, [0]).await?;
            for section in &mut sections {
                section.scan.filter = sweepings.condition();
            }
            Ok(Some(sections))
        })
    }

    fn owner(&self, layout: usize, row: &Row) -> Result<RowKeys> {
        self.schema.owner(layout, row.as_ref())
    }

    fn read<'s>(
        &'s self,
        layout: usize,
        table: Cow<'static, str>,
        row: Row,
        sweepings: Sweepings<'s>,
    ) -> BoxFuture<'s, Result<Option<FoundEntity>>> {
        Box::pin(async move {
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
        })
    }

    fn row_id(&self, _table: &str, found: &FoundEntity) -> RowId {
        Self::row_id(self, &found.encoded.primary.keys)
    }

    fn remove<'s>(&'s self, _table: &'s str, found: Vec<FoundEntity>) -> BoxFuture<'s, Result<Swept>> {
        Box::pin(remove(&self.tables, self.schema, found))
    }

    fn begin(&self) -> Option<Box<Running>> {
        Self::begin(self, "sweep")
    }
}

/// Returns an index that has the time before any other value, and its rows of entities that have expired.
fn index_of(schema: &Schema, now: Ticks) -> Option<(usize, Vec<Scan>)> {
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

fn expired_index_rows(layout: &LayoutInfo, field: &str, now: Ticks) -> Option<Vec<Scan>> {
    let all = all_rows(layout, layout.table.clone());
    let is_time = |part: &PartInfo| part.field == field && part.kind == "time";
    if let Some(first) = layout.partition.first().filter(|first| is_time(first)) {
        let partitions = until(first, &layout.partition_prefix, now)?;
        return Some(vec![Scan { partitions: Partitions::Range(partitions), ..all }]);
    }
    let ([only], Some(first)) = (&*layout.partition, layout.row.first().filter(|first| is_time(first))) else {
        return None;
    };
    let (count, prefix) = (Encoding::of(only).hash?, &*layout.partition_prefix);
    let rows = until(first, &layout.row_prefix, now)?;
    let scan = |number| {
        let partitions = Partitions::One(format!("{prefix}{}", bucket(number, count)));
        Scan { partitions, rows: rows.clone(), ..all.clone() }
    };
    Some((0..count).map(scan).collect())
}

/// Returns the keys whose first part is a time until now.
fn until(part: &PartInfo, prefix: &str, now: Ticks) -> Option<KeyRange> {
    let all = order::prefixed(prefix);
    let key = |ticks: u64| format!("{prefix}{ticks:019}");
    match Encoding::of(part) {
        encoding if encoding.is_reverse_time => {
            Some(KeyRange { from: Bound::Included(key(Ticks::MAX.get() - now.get())), to: all.to })
        }
        encoding if encoding.is_time || encoding == Encoding::PLAIN => {
            Some(KeyRange { from: all.from, to: Bound::Excluded(key(now.get() + 1)) })
        }
        _ => None,
    }
}
