//! Verification: finding the problems that crashes and other programs left.

use std::{collections::BTreeSet, fmt, sync::Arc};

use table_model::TableEntity;
use table_store::{Result, backend::BoxFuture, error::ParseCursorError, unstable::observe::Running};

use super::{
    compare::{Compared, RowComparison},
    described::{Described, Typed},
    examine::{LocatedFinding, examine},
    finding::Finding,
    job::{Comparing, Found, Job, JobKind, JobOptions, OfPartitions, Progress, Resumable},
    marks::{event_sections, find_unmarked},
    position::hash_job,
    sample::{Sample, SampledRange, VerifiedSample, random_seed},
};
use crate::{
    client::tables::{Tables, lock},
    write::index::{Schema, Write},
};

/// A verification: see [`Tables::verify`]. Its job is a [`Stream`](futures_core::Stream) of findings, too.
pub struct Verify {
    of: Result<Arc<dyn Described>>,
    job: u64,
    /// The number of random ranges; `None` for all rows.
    sample: Option<usize>,
    seed: Option<u64>,
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
    /// Indexes, as `Post.title`, that a verification [by the catalog](crate::inventory::Inventory::verify) could not compare
    /// completely. There is none if the type is known.
    pub partly: BTreeSet<String>,
    /// What a [sample](Job::sample) was, and what it proves; `None` if all rows were read.
    pub sample: Option<VerifiedSample>,
}

impl Verify {
    pub(crate) fn new(of: Result<Arc<dyn Described>>, job: u64) -> Self {
        Self { of, job, sample: None, seed: None }
    }
}

impl Resumable for Verify {
    fn hash(&self) -> u64 {
        self.job
    }
}

impl Comparing for Verify {}
impl OfPartitions for Verify {}

impl JobKind for Verify {
    type Done = Verified;
    type Error = table_store::Error;
    type Progress = Progress;

    fn begin(&self) -> Option<Box<Running>> {
        self.of.as_ref().ok().and_then(|of| of.begin("verify"))
    }

    async fn run(self, mut options: JobOptions<'_, Progress>) -> Result<Verified> {
        let Verify { of, job, sample, seed } = self;
        let of = &*of?;
        let mut progress = Progress::default();
        let sample = if let Some(ranges) = sample {
            if options.resumed.is_some() {
                return Err(ParseCursorError::OtherQuery.into());
            }
            let (partitions, pages) = (&options.partitions.clone(), options.pages(of.client()));
            let sample = Sample { of, partitions, pages, ranges, seed: seed.unwrap_or_else(random_seed) };
            let done = |range: SampledRange| {
                progress.entities += range.entities;
                progress.index_rows += range.index_rows;
                found(&mut progress, &mut options, findings_of(range.findings));
            };
            Some(sample.take(done).await?)
        } else {
            let mut comparison = RowComparison::with(of, &mut options)?;
            let work = |table: String, suspects| -> BoxFuture<'_, _> {
                Box::pin(async move { examine(of, &table, suspects).await })
            };
            let done = |compared: Compared, findings: Vec<LocatedFinding>| {
                compared.add_to(&mut progress, &options, job);
                found(&mut progress, &mut options, findings_of(findings));
            };
            comparison.run(&work, done).await?;
            let events = of.events().await?;
            let scan = options.scan(of.client(), event_sections(&events, 0));
            let unmarked = find_unmarked(&events, scan).await?;
            found(&mut progress, &mut options, unmarked.into_iter().map(|unmarked| unmarked.finding));
            None
        };
        let Progress { entities, index_rows, .. } = progress;
        Ok(Verified { entities, index_rows, findings: Vec::new(), partly: of.partly(), sample })
    }

    fn add(verified: &mut Verified, found: Vec<Finding>) {
        verified.findings = found;
    }
}

fn findings_of(located: Vec<LocatedFinding>) -> impl ExactSizeIterator<Item = Finding> {
    located.into_iter().map(|located| located.finding)
}

/// Reports what a page has shown.
fn found(
    progress: &mut Progress,
    options: &mut JobOptions<'_, Progress>,
    findings: impl ExactSizeIterator<Item = Finding>,
) {
    progress.findings += findings.len();
    lock(&options.found).extend(findings.map(Found::Finding));
    options.report(|| progress.clone());
}

impl Job<'_, Verify> {
    /// Reads so many random ranges instead of all rows: each a page of up to 100 rows of a table, and by point reads what
    /// belongs to each of them. The result says what that [proves](VerifiedSample).
    ///
    /// The ranges are spread evenly over the entities and the indexes; over their slices, if they have some; and of a
    /// verification [by the catalog](crate::inventory::Inventory::verify), over the tables. With fewer ranges, chance decides
    /// which of them are read. A large partition is drawn as often as a small one.
    ///
    /// # Requests
    /// About 50 find the keys of each table, and of each large partition that is drawn; and about 90 draw a range. An
    /// entity then costs one for each of its index rows, and an index row one for each entity to which it leads. So 100
    /// ranges of an entity with three indexes take up to 24,000 requests, whatever the number of rows. If few rows of a
    /// table belong to the entity or the index, the service reads the others to find them.
    ///
    /// A range has up to 16 point reads in flight, and [`side_by_side`](Self::side_by_side) sets the number of ranges.
    ///
    /// A sample has no cursor, and [`memory`](Self::memory) does not matter. It does not look at events.
    ///
    /// ```
    /// # use table_runtime::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, #[index(title)] title: String }
    /// # async fn example(tables: Tables) -> table_runtime::Result<()> {
    /// let verified = tables.verify::<Post>().sample(100).await?;
    /// if let Some(sample) = verified.sample {
    ///     println!("{sample}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn sample(self, ranges: usize) -> Self {
        self.with(|verify, _| verify.sample = Some(ranges))
    }

    /// Draws the ranges of a [sample](Self::sample) with the seed of an earlier one: they are the same if the rows are.
    pub fn seed(self, seed: u64) -> Self {
        self.with(|verify, _| verify.seed = Some(seed))
    }
}

impl fmt::Debug for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").finish_non_exhaustive()
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
    /// the entities are read once more. Each row that differs is examined with a few reads of its own. For an entity with
    /// [events](crate::guide::events), it then reads the keys of all events, which is a scan of each table, and the mark of each
    /// partition that has some.
    ///
    /// A hash takes 16 bytes for each index row, up to a bound of 64 MiB, which is enough for 4.2 million rows. With
    /// more rows, or less [`memory`](Job::memory), it takes several passes, each of which reads all rows and
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
    pub fn verify<'a, E: TableEntity>(&self) -> Job<'a, Verify> {
        self.verify_schema(Schema::of::<E>())
    }

    pub(crate) fn verify_schema<'a>(&self, schema: Schema) -> Job<'a, Verify> {
        let of = Write::new(self.clone(), schema).map(|write| Arc::new(Typed::new(Arc::new(write), None)) as _);
        Job::new(Verify::new(of, hash_job("verify", schema.layouts)))
    }
}
