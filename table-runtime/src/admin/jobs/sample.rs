//! A sample of a verification: random ranges instead of all rows.

use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasher, RandomState},
    iter,
};

use futures_util::{StreamExt, TryStreamExt, stream, stream::FuturesUnordered};
use table_model::{Holds, unstable::codec::is_unreadable};
use table_store::{
    Result, RowRef,
    backend::{BoxFuture, KeyRange},
    unstable::{RowKeys, observe::count_requests},
};
use twox_hash::XxHash3_64;

use super::{
    compare::{Seen, Suspect, owners, read_entity, read_lists, sections_of},
    described::Described,
    examine::{LocatedFinding, examine},
    position::Phase,
};
use crate::{
    admin::scan::{RandomPages, ScannedPage},
    client::{pace::Pace, pacing},
    write::RowHasher,
};

/// What a verification of random ranges has read: see [`Job::sample`](super::Job::sample).
///
/// `Display` describes it in a line, with what it proves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSample {
    /// The seed, with which the same ranges are drawn again as long as the rows are the same.
    pub seed: u64,
    /// Number of ranges that were drawn, without those of which no row could be compared. A range that was drawn twice counts
    /// twice.
    pub ranges: usize,
    /// Number of those with a problem.
    pub damaged: usize,
    /// Number of requests.
    pub requests: u64,
}

impl VerifiedSample {
    /// Returns the share of ranges, from 0 to 1, that have a problem at most, with a confidence of 95 %: if more ranges had
    /// one, at most one of twenty samples would have so few of them. 1 without any range.
    ///
    /// It is about ranges as they are drawn, not about rows: problems that are close to each other are in few ranges, and a
    /// row among few others is drawn more often than one among many.
    #[must_use]
    pub fn at_most(&self) -> f64 {
        let (mut from, mut to) = (0.0, 1.0);
        if self.damaged >= self.ranges {
            return 1.0;
        }
        // The bound of Clopper and Pearson. 50 steps are more than the digits of the number.
        for _ in 0..50 {
            let middle = f64::midpoint(from, to);
            if at_most(self.damaged, self.ranges, middle) > 0.05 { from = middle } else { to = middle }
        }
        to
    }
}

/// Returns the probability that at most `damaged` of `ranges` ranges have a problem, if this share of all has one.
#[allow(clippy::cast_precision_loss, reason = "a sample has far fewer ranges than 2⁵²")]
fn at_most(damaged: usize, ranges: usize, share: f64) -> f64 {
    let ranges = ranges as f64;
    // Logarithms, because the single factors are too small and too large.
    let mut term = ranges * (-share).ln_1p();
    let mut sum = term.exp();
    for number in 1..=damaged {
        let number = number as f64;
        term += ((ranges - number + 1.0) / number).ln() + share.ln() - (-share).ln_1p();
        sum += term.exp();
    }
    sum
}

impl fmt::Display for VerifiedSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, ranges, damaged, requests } = self;
        write!(f, "{damaged} of {ranges} ranges have problems, {requests} requests, seed {seed}: ")?;
        write!(f, "with a confidence of 95 %, at most {:.2} % of such ranges have any", self.at_most() * 100.0)
    }
}

/// A sample to be taken.
#[derive(Clone, Copy)]
pub(super) struct Sample<'s> {
    pub(super) of: &'s dyn Described,
    pub(super) partitions: &'s KeyRange,
    /// Number of ranges at the same time.
    pub(super) pages: usize,
    pub(super) ranges: usize,
    pub(super) seed: u64,
}

/// What a range has shown.
#[derive(Default)]
pub(super) struct SampledRange {
    pub(super) entities: usize,
    pub(super) index_rows: usize,
    pub(super) findings: Vec<LocatedFinding>,
}

/// Returns a seed by chance.
pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one(())
}

impl Sample<'_> {
    /// Returns a random number.
    fn hash(self, range: usize, number: usize) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, format!("{range} {number}").as_bytes())
    }

    /// Draws the ranges, and examines their rows. Calls `done` after each range.
    pub(super) async fn take(self, done: impl FnMut(SampledRange)) -> Result<VerifiedSample> {
        let (taken, requests) = count_requests(self.take_ranges(done)).await;
        Ok(VerifiedSample { requests, ..taken? })
    }

    async fn take_ranges(self, mut done: impl FnMut(SampledRange)) -> Result<VerifiedSample> {
        let client = self.of.client();
        let sections = &self.sections().await?;
        let mut sample = VerifiedSample { seed: self.seed, ..VerifiedSample::default() };
        let mut pace = Pace::new(self.pages, self.pages, client.overloads());
        let (mut left, mut reads, mut seen) = (0..self.ranges, FuturesUnordered::new(), HashSet::new());
        if sections.is_empty() {
            return Ok(sample);
        }
        loop {
            while reads.len() < pace.limit()
                && let Some(range) = left.next()
            {
                let (phase, section) = &sections[range % sections.len()];
                let mut tosses = (0..).map(move |toss| self.hash(range, toss).is_multiple_of(2));
                let read = async move {
                    let drawn = section.draw(client, || tosses.next().unwrap_or_default()).await?;
                    self.read(*phase, &drawn).await
                };
                reads.push(read);
            }
            let in_flight = reads.len();
            let Some(mut read) = reads.try_next().await? else { return Ok(sample) };
            pace.note(in_flight, client.overloads());
            // A range without a row that was compared shows nothing.
            sample.ranges += usize::from(read.entities + read.index_rows > 0);
            sample.damaged += usize::from(!read.findings.is_empty());
            // A problem can be seen from the entity and from the index row, and a range can be drawn twice.
            read.findings.retain(|located| seen.insert(located.finding.to_string()));
            done(read);
        }
    }

    /// Returns the sections from which ranges are drawn, in a random order. Each has rows.
    async fn sections(self) -> Result<Vec<(Phase, RandomPages)>> {
        let (of, partitions) = (self.of, self.partitions);
        let mut sections = Vec::new();
        for phase in [Phase::Entities, Phase::IndexRows] {
            let of_phase = sections_of(of, phase, partitions).await?;
            sections.extend(of_phase.into_iter().map(|section| (phase, section)));
        }
        let mut sections: Vec<_> = sections.into_iter().enumerate().collect();
        sections.sort_by_key(|(number, _)| self.hash(self.ranges, *number));
        let opened = sections.into_iter().map(|(_, (phase, section))| async move {
            let of_section = RandomPages::begin(of.client(), section).await?;
            Ok(of_section.map(|of_section| (phase, of_section)))
        });
        let with_rows = stream::iter(opened).buffered(self.pages).try_filter_map(|opened| async { Ok(opened) });
        with_rows.take(self.ranges).try_collect().await
    }

    /// Examines each row of a page.
    async fn read(self, phase: Phase, page: &ScannedPage) -> Result<SampledRange> {
        let (of, partitions) = (self.of, self.partitions);
        let (mut range, mut suspects) = (SampledRange::default(), Vec::new());
        if phase == Phase::Entities {
            for found in page.rows().filter_map(|row| read_entity(of, &page.table, row)) {
                range.entities += 1;
                suspects.push(found.map_or_else(
                    |suspect| suspect,
                    |found| {
                        let mut layouts: Vec<_> = of.expected(&found.encoded).iter().map(|row| row.layout).collect();
                        layouts.dedup();
                        Suspect::Entity { found: Box::new(found), layouts }
                    },
                ));
            }
        } else {
            let lists = read_lists(of, page).await?.into_iter().chain(iter::repeat_with(|| None));
            let mut rows: Vec<BoxFuture<'_, _>> = Vec::new();
            for (row, list) in page.rows().zip(lists) {
                match owners(of, partitions, page, row, list) {
                    Ok(None) => {}
                    Ok(Some((layout, owners))) => rows.push(Box::pin(index_row(of, layout, row, owners))),
                    Err((layout, problem)) => {
                        range.index_rows += 1;
                        suspects.push(Suspect::Foreign { layout, keys: row.keys(), problem });
                    }
                }
            }
            for seen in pacing::concurrently(rows).await? {
                range.index_rows += usize::from(!matches!(seen, Seen::Other));
                suspects.extend(if let Seen::Suspect(suspect) = seen { Some(suspect) } else { None });
            }
        }
        range.findings = examine(of, &page.table, suspects).await?;
        Ok(range)
    }
}

/// Compares a row of an index with the entities to which it leads. A row with which nothing can be compared is one of others.
async fn index_row(of: &dyn Described, layout: usize, row: RowRef<'_>, owners: Vec<RowKeys>) -> Result<Seen> {
    let mut reads: Vec<BoxFuture<'_, _>> = Vec::with_capacity(owners.len());
    for owner in &owners {
        reads.push(Box::pin(async move {
            match of.entity(layout, owner).await {
                // A range of entities reports it.
                Err(error) if is_unreadable(&error) => Ok(None),
                found => Ok(Some(found?)),
            }
        }));
    }
    let found = pacing::concurrently(reads).await?;
    // Whether the rows of an index are known may be seen only from entities.
    if !of.is_known(layout) || found.iter().all(Option::is_none) {
        return Ok(Seen::Other);
    }
    let (is_list, keys) = (of.place(layout).holds == Holds::List, row.keys());
    let (mut hasher, mut wrong) = (RowHasher::default(), Vec::new());
    for (owner, found) in owners.into_iter().zip(found) {
        match found {
            None => {}
            Some(Some(found)) if found.encoded.has(layout, &keys) => {
                let stored = of.hash_stored(&mut hasher, layout, row, &owner);
                let mut expected = found.encoded.rows_in(layout).iter();
                if !is_list && expected.all(|row| of.hash_expected(&mut hasher, row, &owner) != stored) {
                    return Ok(Seen::Suspect(Suspect::Entity { found: Box::new(found), layouts: vec![layout] }));
                }
            }
            Some(_) => wrong.push(owner),
        }
    }
    Ok(match wrong.is_empty() {
        true => Seen::Right,
        false if is_list => Seen::Suspect(Suspect::List { layout, keys, members: wrong }),
        false => Seen::Suspect(Suspect::IndexRow { layout, row: row.to_row() }),
    })
}
