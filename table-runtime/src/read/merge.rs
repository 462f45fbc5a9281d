//! Merges the rows of scans in the order of their row keys; rows with equal row keys come in the order of the scans.
//!
//! Each request to the service takes as long as many rows, and could all be needed: each scan is asked for as many rows as the
//! query may still return, several scans at the same time. A store in the same process is asked for what a scan probably
//! contributes, and again where that was not enough.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
    sync::Arc,
};

use table_store::{
    Result, RowRef, RowSet,
    backend::{BoxFuture, Scan},
    unstable::{ScanProgress, client::Client, order},
};

use super::stages::{OnTableRow, PageDemand};
use crate::client::pacing;

/// Limit of the rows that all scans together buffer: with many scans, the pages are smaller.
const MAX_BUFFERED_ROWS: usize = 100_000;

/// Scans whose rows are merged.
pub(super) struct Merge {
    lanes: Vec<Lane>,
    /// Next row of each scan whose next row is known.
    heads: BinaryHeap<MergeHead>,
}

/// One of the scans, and its rows that were read and not yet returned.
struct Lane {
    scan: Scan,
    progress: ScanProgress,
    rows: RowSet,
    /// Index of the next row in `rows`.
    at: usize,
    /// Page after `rows`, which was read while the query waited for other scans.
    ahead: RowSet,
}

/// Position of a row in the order of all rows. The greatest comes first, because the heap returns its greatest element.
struct MergeHead {
    row_key: String,
    lane: usize,
}

impl Merge {
    pub(super) fn new(scans: Vec<Scan>) -> Self {
        let lane = |scan| {
            let (progress, rows, ahead) = (ScanProgress::default(), RowSet::default(), RowSet::default());
            Lane { scan, progress, rows, at: 0, ahead }
        };
        Self { lanes: scans.into_iter().map(lane).collect(), heads: BinaryHeap::new() }
    }

    /// Calls `read` for some of the next rows, at most as many as are wanted. Returns true if no rows are left.
    pub(super) async fn next(
        &mut self,
        backend: &Arc<Client>,
        demand: PageDemand,
        read: OnTableRow<'_>,
    ) -> Result<bool> {
        self.fill(backend, demand).await?;
        let mut is_known = true;
        for _ in 0..demand.rows {
            let Some(mut head) = self.heads.peek_mut() else { break };
            let lane = &mut self.lanes[head.lane];
            if let Some(row) = lane.rows.get(lane.at) {
                read(&lane.scan.table, row)?;
            }
            lane.advance();
            if let Some(row) = lane.rows.get(lane.at) {
                // The next row of the scan takes the place of this one, in the same memory.
                row.row_key.clone_into(&mut head.row_key);
            } else {
                PeekMut::pop(head);
                if !lane.progress.has_ended() {
                    // The scan's next row is not read yet, and may be the next row of all.
                    is_known = false;
                    break;
                }
            }
        }
        Ok(is_known && self.heads.is_empty())
    }

    /// Reads the next page of every scan whose next row is not known.
    async fn fill(&mut self, backend: &Arc<Client>, demand: PageDemand) -> Result<()> {
        let empty: Vec<_> = (0..self.lanes.len()).filter(|lane| self.lanes[*lane].is_empty()).collect();
        if empty.is_empty() {
            return Ok(());
        }
        let max_page = u32::try_from(MAX_BUFFERED_ROWS / self.lanes.len()).unwrap_or(u32::MAX).max(1);
        if backend.is_in_process() {
            let share = share(demand.rows, self.lanes.len());
            for number in empty {
                let lane = &mut self.lanes[number];
                // A scan that has more rows than the others is asked for more each time.
                let again = if lane.progress.next().is_some() { lane.scan.page.saturating_mul(2) } else { 0 };
                lane.fill(backend, demand, share.max(again).min(max_page)).await?;
                self.heads.extend(lane.head(number));
            }
            return Ok(());
        }
        // If the buffered rows are not enough, the other scans will need a page soon: read it at the same time.
        let buffered: usize = self.lanes.iter().map(Lane::buffered).sum();
        let ahead = demand.rows > buffered;
        let lanes = self.lanes.iter_mut().filter(|lane| lane.is_empty() || (ahead && lane.is_low()));
        let fills: Vec<BoxFuture<'_, Result<()>>> =
            lanes.map(|lane| -> BoxFuture<'_, Result<()>> { Box::pin(lane.fill(backend, demand, max_page)) }).collect();
        pacing::concurrently(fills).await?;
        let heads = empty.into_iter().filter_map(|number| self.lanes[number].head(number));
        self.heads.extend(heads);
        Ok(())
    }
}

/// Returns a number of rows that one of so many scans rarely exceeds, if their rows are distributed evenly: two standard
/// deviations above the mean, and one more, which shows whether the next row of all is another one's.
fn share(rows: usize, scans: usize) -> u32 {
    let mean = rows / scans.max(1);
    u32::try_from(mean + 2 * mean.isqrt() + 2).unwrap_or(u32::MAX)
}

impl Lane {
    fn buffered(&self) -> usize {
        self.rows.len() - self.at + self.ahead.len()
    }

    /// Checks whether a read is needed to know the next row.
    fn is_empty(&self) -> bool {
        !self.progress.has_ended() && self.buffered() == 0
    }

    /// Checks whether few rows are left before a read is needed.
    fn is_low(&self) -> bool {
        !self.progress.has_ended() && self.ahead.is_empty() && self.buffered() <= self.rows.len() / 4
    }

    fn head(&self, lane: usize) -> Option<MergeHead> {
        let row: RowRef<'_> = self.rows.get(self.at)?;
        Some(MergeHead { row_key: row.row_key.to_owned(), lane })
    }

    fn advance(&mut self) {
        self.at += 1;
        if self.at == self.rows.len() {
            self.rows = std::mem::take(&mut self.ahead);
            self.at = 0;
        }
    }

    /// Reads the next page that is not empty: the service may return an empty page with a continuation.
    async fn fill(&mut self, backend: &Arc<Client>, demand: PageDemand, max_page: u32) -> Result<()> {
        while !self.progress.has_ended() && self.ahead.is_empty() {
            self.scan.page = demand.page(&self.scan).min(max_page);
            let page = backend.next_page(&self.scan, &mut self.progress).await;
            self.ahead = demand.or_missing(page, &mut self.progress)?;
        }
        if self.at == self.rows.len() {
            self.rows = std::mem::take(&mut self.ahead);
            self.at = 0;
        }
        Ok(())
    }
}

impl Ord for MergeHead {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&other.row_key, &self.row_key).then(other.lane.cmp(&self.lane))
    }
}

impl PartialOrd for MergeHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for MergeHead {}
