//! The builder of every job.

use std::{
    collections::VecDeque,
    fmt,
    future::IntoFuture,
    mem,
    ops::{Bound, RangeBounds},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::TryStreamExt;
use table_store::{
    Error, Result,
    backend::{BoxFuture, KeyRange},
    error::ParseCursorError,
    unstable::{
        client::Client,
        observe::{ObservedError, Running, observed},
    },
};

use super::{finding::Finding, hashes::MEMORY, position::JobPosition, verify::Verify};
use crate::{
    admin::scan::{Section, Shard, SideBySide},
    client::tables::lock,
};

/// The progress of a job over rows. It is reported after each page of up to 1000 rows.
///
/// A job that reads rows more than once counts each once: see [`verify`](crate::Tables::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of entities that were read.
    pub entities: usize,
    /// Number of rows that a dump, a load or a copy has read; 0 for other jobs.
    pub rows: usize,
    /// Number of index rows that were read; 0 for a backfill.
    pub index_rows: usize,
    /// Number of problems that were found: findings of a verification or a repair, entities without a row in the index
    /// of a backfill.
    pub findings: usize,
    /// Number of those that were fixed: 0 for a verification and a dry run.
    pub fixed: usize,
    /// Number of the pass, from 1; 0 for a job that has no passes.
    pub pass: usize,
    /// Number of passes, as far as it is known: 1 if the hashes of all index rows fit into the memory, 0 for a job that
    /// has no passes.
    pub passes: usize,
    /// Estimated number of rows that are left. It follows from the distances of keys, and of index rows from the number of
    /// the hashes. `None` as long as nothing is known of it: for example with one page [at a time](Job::side_by_side), and in
    /// passes after the first one.
    pub rows_left: Option<usize>,
    /// The cursor from which the job [continues](Job::resume_from) if it is stopped now. Everything before it is done.
    pub cursor: Option<String>,
}

/// A job over many rows, which runs when it is awaited. [`Tables`](crate::Tables) has a function for each of them.
///
/// All jobs have the same options, and each those that make sense for it: any other does not compile.
///
/// | option | jobs |
/// |---|---|
/// | [`progress`](Self::progress), [`side_by_side`](Self::side_by_side) | all |
/// | [`resume_from`](Self::resume_from) | verify, repair, backfill, sweep, migrate, dump, load, `copy_to` |
/// | [`memory`](Self::memory) | verify, repair, backfill, migrate |
/// | [`dry_run`](Self::dry_run) | backfill, sweep, `delete_all`, load, `copy_to` |
/// | [`partitions`](Self::partitions) | verify, repair, sweep, dump, `copy_to` |
/// | [`shard`](Self::shard) | sweep, dump, `copy_to` |
/// | [`sample`](Self::sample) | verify |
/// | [`discarding_events`](Self::discarding_events) | `drop_slices`, `drop_moved` |
///
/// To drop the future stops the job. What it has written stays, and is right.
///
/// ```
/// # use table_runtime::{Result, TableEntity, Tables};
/// # #[derive(TableEntity)]
/// # struct Post { #[partition_key] author: String, #[row_key] number: u32, title: String }
/// # async fn example(tables: Tables, saved: Option<String>) -> Result<()> {
/// let mut repair = tables.repair::<Post>().memory(256 << 20).side_by_side(32);
/// if let Some(cursor) = saved {
///     repair = repair.resume_from(&cursor)?;
/// }
/// let repaired = repair.progress(|progress| println!("{:?}", progress.cursor)).await?;
/// # Ok(()) }
/// ```
#[must_use = "a job does nothing until it is awaited"]
pub struct Job<'a, K: JobKind> {
    state: JobState<'a, K>,
    cursor: Option<String>,
}

#[allow(clippy::large_enum_variant, reason = "a program has few jobs")]
enum JobState<'a, K: JobKind> {
    New(K, JobOptions<'a, K::Progress>),
    Begun(Begun<'a, K>),
}

/// A job that was begun, as a future or as a stream.
struct Begun<'a, K: JobKind> {
    /// `None` once it has ended.
    job: Option<BoxFuture<'a, Result<K::Done, K::Error>>>,
    done: Option<K::Done>,
    found: FoundQueue,
    on_progress: ProgressCallback<'a, K::Progress>,
}

type ProgressCallback<'a, P> = Option<Box<dyn FnMut(&P) + Send + 'a>>;

/// What a job has found and its stream has not returned yet.
pub(crate) type FoundQueue = Arc<Mutex<VecDeque<Found>>>;

pub(crate) enum Found {
    Finding(Finding),
    /// The progress after the findings before it.
    Page(Progress),
}

impl Found {
    pub(crate) fn finding(self) -> Option<Finding> {
        if let Self::Finding(finding) = self { Some(finding) } else { None }
    }
}

/// The options of a job.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "no user has them")]
pub struct JobOptions<'a, P> {
    pub(crate) on_progress: ProgressCallback<'a, P>,
    pub(crate) side_by_side: Option<usize>,
    pub(crate) resumed: Option<JobPosition>,
    pub(crate) memory: usize,
    pub(crate) dry_run: bool,
    pub(crate) partitions: KeyRange,
    pub(crate) shard: Option<Shard>,
    /// The layout whose rows the job reads.
    pub(crate) layout: usize,
    /// The findings that were not returned yet.
    pub(crate) found: FoundQueue,
}

/// What a job does: the type of each function that returns a [`Job`].
pub trait JobKind: Sized + Send + Unpin {
    /// What the job returns.
    type Done: Send;
    /// The error of the job.
    type Error: ObservedError + Send;
    /// The progress that the job reports.
    type Progress: 'static;

    /// Begins the operation that is observed; `None` if nobody observes it.
    #[doc(hidden)]
    fn begin(&self) -> Option<Box<Running>>;

    #[doc(hidden)]
    fn run(
        self,
        options: JobOptions<'_, Self::Progress>,
    ) -> impl Future<Output = Result<Self::Done, Self::Error>> + Send;

    /// Adds what was found to the result.
    #[doc(hidden)]
    fn add(_done: &mut Self::Done, _found: Vec<Finding>) {}
}

/// A job that can be continued.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be resumed",
    label = "this job does not have the option",
    note = "run it again: it goes on with what is left"
)]
pub trait Resumable: JobKind {
    /// Returns the hash to which the job's cursors are bound.
    #[doc(hidden)]
    fn hash(&self) -> u64;
}

/// A job that deletes tables with all that is in them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` discards no events",
    label = "this job does not have the option",
    note = "`drop_slices` and `drop_moved` have it"
)]
pub trait Discarding: JobKind {
    #[doc(hidden)]
    fn discard_events(&mut self);
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident: $message:literal, $note:literal;)+) => {$(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(message = $message, label = "this job does not have the option", note = $note)]
        pub trait $name: JobKind {}
    )+};
}

options! {
    /// A job that compares rows by hashes.
    Comparing: "`{Self}` has no memory to set", "`verify`, `repair`, `backfill` and `migrate` hold hashes of rows";
    /// A job that can say what it would do.
    Rehearsable: "`{Self}` has no dry run",
        "`backfill`, `sweep`, `delete_all`, `load` and `copy_to` have one; `verify` says what `repair` would fix";
    /// A job that can be limited to some partitions.
    OfPartitions: "`{Self}` concerns all partitions",
        "`verify`, `repair`, `sweep`, `dump` and `copy_to` can be limited to some";
    /// A job that can be divided among machines.
    Sharded: "`{Self}` cannot be divided among machines",
        "`sweep`, `dump` and `copy_to` can; a comparison reads all index rows whatever its share, and one run decides when an index is ready";
}

impl<K: Discarding> Job<'_, K> {
    /// Deletes also [events](crate::guide::events) that no relay has delivered, and those that were put aside. Otherwise, they
    /// are an error.
    pub fn discarding_events(self) -> Self {
        self.with(|job, _| job.discard_events())
    }
}

impl<'a, K: JobKind> Job<'a, K> {
    pub(crate) fn new(kind: K) -> Self {
        Self { state: JobState::New(kind, JobOptions::new()), cursor: None }
    }

    /// Changes what the job is, or its options.
    pub(crate) fn with(mut self, set: impl FnOnce(&mut K, &mut JobOptions<'a, K::Progress>)) -> Self {
        if let JobState::New(kind, options) = &mut self.state {
            set(kind, options);
        }
        self
    }

    /// Calls the function with the progress after each page.
    pub fn progress(self, report: impl FnMut(&K::Progress) + Send + 'a) -> Self {
        self.with(|_, options| options.on_progress = Some(Box::new(report)))
    }

    /// Sets the maximum number of pages that are read, and worked on, at the same time. The default is 16 on the service,
    /// and 1 on the embedded store. When the service is overloaded, there are fewer, as for
    /// [bulk writes](crate::Bulk::side_by_side). What the job finds is the same, in another order.
    ///
    /// A table whose rows fit a page costs one request. Of any other, requests for one row look for keys that divide it,
    /// about two for each page that is read at the same time.
    ///
    /// Of `delete_all` and a load, it is the number of transactions in flight, as for a [bulk write](crate::Bulk::side_by_side).
    /// `drop_slices` deletes one table after another, whatever it is.
    pub fn side_by_side(self, pages: usize) -> Self {
        self.with(|_, options| options.side_by_side = Some(pages.max(1)))
    }

    /// Continues an earlier job of the same kind and with the same options at its [`Progress::cursor`], with any number of
    /// pages [side by side](Self::side_by_side). What was done before is neither done nor counted again. A job that
    /// compares rows reads those of the same pass again.
    ///
    /// # Errors
    /// Returns [`Error::Cursor`] for a text that is not such a cursor, for the cursor of another job, and for one from before
    /// a change of the entity's keys or indexes. A cursor with other partitions or shards is an error of the job.
    pub fn resume_from(self, cursor: &str) -> Result<Self>
    where
        K: Resumable,
    {
        let mut parsed = Ok(());
        let job = self.with(|kind, options| {
            parsed = JobPosition::parse(cursor, kind.hash()).map(|position| options.resumed = Some(position));
        });
        parsed.map(|()| job).map_err(Error::from)
    }

    /// Sets the number of bytes for the hashes of rows: 64 MiB if it is not set. With less memory than the rows need, a job
    /// takes several passes: see [`verify`](crate::Tables::verify).
    pub fn memory(self, bytes: usize) -> Self
    where
        K: Comparing,
    {
        self.with(|_, options| options.memory = bytes)
    }

    /// Writes nothing, and counts what there is to do.
    pub fn dry_run(self) -> Self
    where
        K: Rehearsable,
    {
        self.with(|_, options| options.dry_run = true)
    }

    /// Limits the job to the entities whose partition keys, as they are stored, are in the range. Rows of indexes in other
    /// partitions are all read.
    pub fn partitions<S: AsRef<str>>(self, range: impl RangeBounds<S>) -> Self
    where
        K: OfPartitions,
    {
        let key = |bound: Bound<&S>| bound.map(|key| key.as_ref().to_owned());
        let partitions = KeyRange { from: key(range.start_bound()), to: key(range.end_bound()) };
        self.with(|_, options| options.partitions = partitions)
    }

    /// Limits the job to the share of the machine `number`, from 0, of `count` machines that run the job. Each partition
    /// belongs to one of them, by a hash of its key, so that they need not know of each other.
    ///
    /// Partitions of others are read as far as they share a page with own ones, so this pays for partitions of more than a
    /// page. For small ones, give each machine a [range](Self::partitions).
    ///
    /// # Panics
    /// If `number` is not below `count`.
    pub fn shard(self, number: usize, count: usize) -> Self
    where
        K: Sharded,
    {
        assert!(number < count, "shard {number} of {count}: shards are counted from 0");
        let shard = Shard { number: number as u64, count: count as u64 };
        self.with(|_, options| options.shard = Some(shard))
    }
}

impl<P> JobOptions<'_, P> {
    fn new() -> Self {
        Self {
            on_progress: None,
            side_by_side: None,
            resumed: None,
            memory: MEMORY,
            dry_run: false,
            partitions: KeyRange::ALL,
            shard: None,
            layout: 0,
            found: FoundQueue::default(),
        }
    }

    pub(crate) fn report(&mut self, progress: impl FnOnce() -> P) {
        if let Some(report) = &mut self.on_progress {
            report(&progress());
        }
    }

    /// Returns the number of pages at the same time.
    pub(crate) fn pages(&self, client: &Client) -> usize {
        let default = || if client.is_in_process() { 1 } else { client.side_by_side() };
        self.side_by_side.unwrap_or_else(default)
    }

    /// Returns a scan with these options.
    pub(crate) fn scan(&self, client: &Arc<Client>, sections: Vec<Section>) -> SideBySide {
        let sections = sections.into_iter().filter_map(|section| section.within(&self.partitions)).collect();
        SideBySide::new(Arc::clone(client), sections, self.pages(client)).of_shard(self.shard)
    }

    /// Returns the position at which the job continues.
    ///
    /// # Errors
    /// Returns an error if it was asked for other rows.
    pub(crate) fn begin(&mut self) -> Result<Option<JobPosition>> {
        let asked = self.asked();
        match self.resumed.take() {
            Some(position) if position.asked != asked => Err(ParseCursorError::OtherQuery.into()),
            position => Ok(position),
        }
    }

    /// Returns what was asked for, as the cursors have it.
    pub(crate) fn asked(&self) -> String {
        match self {
            Self { partitions, shard: None, layout: 0, .. } if *partitions == KeyRange::ALL => String::new(),
            Self { partitions, shard, layout, .. } => format!("{partitions:?} {shard:?} {layout}"),
        }
    }
}

impl<'a, K: JobKind + 'a> Begun<'a, K> {
    fn new(kind: K, options: JobOptions<'a, K::Progress>) -> Self {
        let found = Arc::clone(&options.found);
        let job: BoxFuture<'a, _> = Box::pin(observed(kind.begin(), kind.run(options)));
        Self { job: Some(job), found, ..Self::ended() }
    }

    fn ended() -> Self {
        Self { job: None, done: None, found: FoundQueue::default(), on_progress: None }
    }
}

/// A verification that was read as a stream can be awaited: it then returns what the stream has not, and reports no
/// further progress.
///
/// # Panics
/// If the stream has returned an error.
impl<'a, K: JobKind + 'a> IntoFuture for Job<'a, K> {
    type Output = Result<K::Done, K::Error>;
    type IntoFuture = BoxFuture<'a, Result<K::Done, K::Error>>;

    fn into_future(self) -> Self::IntoFuture {
        let Begun { job, done, found, .. } = match self.state {
            JobState::New(kind, options) => Begun::new(kind, options),
            JobState::Begun(begun) => begun,
        };
        Box::pin(async move {
            let mut done = match (done, job) {
                (Some(done), _) => done,
                (None, Some(job)) => job.await?,
                (None, None) => panic!("a verification whose stream has returned an error was awaited"),
            };
            let found = lock(&found).drain(..).filter_map(Found::finding).collect();
            K::add(&mut done, found);
            Ok(done)
        })
    }
}

impl<K: JobKind> fmt::Debug for Job<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("kind", &std::any::type_name::<K>()).finish_non_exhaustive()
    }
}

impl Job<'_, Verify> {
    /// Reads all findings, as an `await` of the verification does. An error loses those before it. To continue after an
    /// error, read the stream and keep its [`cursor`](Self::cursor).
    ///
    /// # Errors
    /// The first error of the stream.
    pub async fn all(self) -> Result<Vec<Finding>> {
        self.try_collect().await
    }

    /// Returns the cursor from which a verification continues after the findings that the stream has returned so far. It
    /// moves page by page: findings of an unfinished page are returned again. `None` before the first page.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

/// The findings, as they are found. The stream ends after an error.
impl<'a> Stream for Job<'a, Verify> {
    type Item = Result<Finding>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { state, cursor } = &mut *self;
        let begun = match mem::replace(state, JobState::Begun(Begun::ended())) {
            JobState::New(kind, mut options) => {
                let (on_progress, found) = (options.on_progress.take(), Arc::clone(&options.found));
                options.on_progress = Some(Box::new(move |progress: &Progress| {
                    lock(&found).push_back(Found::Page(progress.clone()));
                }));
                Begun { on_progress, ..Begun::new(kind, options) }
            }
            JobState::Begun(begun) => begun,
        };
        *state = JobState::Begun(begun);
        let JobState::Begun(Begun { job, done, found, on_progress }) = state else { return Poll::Ready(None) };
        loop {
            // The lock is not held while the user's function runs.
            let next = lock(found).pop_front();
            match (next, &mut *job) {
                (Some(Found::Finding(finding)), _) => return Poll::Ready(Some(Ok(finding))),
                (Some(Found::Page(progress)), _) => {
                    cursor.clone_from(&progress.cursor);
                    if let Some(report) = on_progress {
                        report(&progress);
                    }
                }
                (None, None) => return Poll::Ready(None),
                (None, Some(running)) => {
                    let polled = running.as_mut().poll(context);
                    if let Poll::Ready(result) = polled {
                        *job = None;
                        match result {
                            Ok(result) => *done = Some(result),
                            Err(error) => return Poll::Ready(Some(Err(error))),
                        }
                    } else if lock(found).is_empty() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}
