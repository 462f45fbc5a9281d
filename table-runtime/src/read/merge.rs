//! Scans whose rows are merged: in the order of their row keys, and of equal ones in the order of the scans.

use std::{cmp::Ordering, collections::BinaryHeap, sync::Arc};

use super::stages::{TableReader, Wanted};
use crate::{
    Result, RowRef, RowSet,
    backend::{Backend, BoxFuture, Continuation, Page, Scan},
    key::order,
    pacing,
};

/// How many rows of all scans are kept at most: of many scans, the pages are smaller.
const KEPT: usize = 100_000;

/// Scans whose rows are merged.
pub(super) struct Merge {
    lanes: Vec<Lane>,
    /// The next row of each scan whose next row is known.
    heads: BinaryHeap<Head>,
}

/// One of the scans, and its rows that were read and not yet given out.
struct Lane {
    scan: Scan,
    from: Option<Continuation>,
    /// Whether every row was read.
    ended: bool,
    rows: RowSet,
    /// The next row among them.
    at: usize,
    /// The page after them, which was read while other scans were waited for.
    ahead: RowSet,
}

/// The place of a row in the order of all; the greatest one comes first.
struct Head {
    row_key: String,
    lane: usize,
}

impl Merge {
    pub(super) fn new(scans: Vec<Scan>) -> Self {
        let lane =
            |scan| Lane { scan, from: None, ended: false, rows: RowSet::default(), at: 0, ahead: RowSet::default() };
        Self { lanes: scans.into_iter().map(lane).collect(), heads: BinaryHeap::new() }
    }

    /// Lends some of the next rows to `read`, not more than are wanted, and says whether there are no others.
    pub(super) async fn next(
        &mut self,
        backend: &Arc<dyn Backend>,
        wanted: Wanted,
        read: TableReader<'_>,
    ) -> Result<bool> {
        self.fill(backend, wanted).await?;
        let mut is_known = true;
        for _ in 0..wanted.left {
            let Some(Head { lane: number, .. }) = self.heads.pop() else { break };
            let lane = &mut self.lanes[number];
            if let Some(row) = lane.rows.get(lane.at) {
                read(&lane.scan.table, row)?;
            }
            lane.advance();
            match lane.head(number) {
                Some(head) => self.heads.push(head),
                None if lane.ended => {}
                // It may have the next row, or not.
                None => {
                    is_known = false;
                    break;
                }
            }
        }
        Ok(is_known && self.heads.is_empty())
    }

    /// Reads on in every scan whose next row is not known.
    async fn fill(&mut self, backend: &Arc<dyn Backend>, wanted: Wanted) -> Result<()> {
        let empty: Vec<_> = (0..self.lanes.len()).filter(|lane| self.lanes[*lane].is_empty()).collect();
        if empty.is_empty() {
            return Ok(());
        }
        let most = u32::try_from(KEPT / self.lanes.len()).unwrap_or(u32::MAX).max(1);
        // If what is there is not enough, the others are about to be waited for as well.
        let kept: usize = self.lanes.iter().map(Lane::kept).sum();
        let ahead = wanted.left > kept;
        let lanes = self.lanes.iter_mut().filter(|lane| lane.is_empty() || (ahead && lane.is_low()));
        let fills: Vec<BoxFuture<'_, Result<()>>> =
            lanes.map(|lane| -> BoxFuture<'_, Result<()>> { Box::pin(lane.fill(backend, wanted, most)) }).collect();
        pacing::concurrently(fills).await?;
        let heads = empty.into_iter().filter_map(|number| self.lanes[number].head(number));
        self.heads.extend(heads);
        Ok(())
    }
}

impl Lane {
    fn kept(&self) -> usize {
        self.rows.len() - self.at + self.ahead.len()
    }

    /// Whether its next row is not known.
    fn is_empty(&self) -> bool {
        !self.ended && self.kept() == 0
    }

    /// Whether it will soon be empty.
    fn is_low(&self) -> bool {
        !self.ended && self.ahead.is_empty() && self.kept() <= self.rows.len() / 4
    }

    fn head(&self, lane: usize) -> Option<Head> {
        let row: RowRef<'_> = self.rows.get(self.at)?;
        Some(Head { row_key: row.row_key.to_owned(), lane })
    }

    fn advance(&mut self) {
        self.at += 1;
        if self.at == self.rows.len() {
            self.rows = std::mem::take(&mut self.ahead);
            self.at = 0;
        }
    }

    /// Reads its next page that is not empty: an empty one with a continuation is legal.
    async fn fill(&mut self, backend: &Arc<dyn Backend>, wanted: Wanted, most: u32) -> Result<()> {
        while !self.ended && self.ahead.is_empty() {
            self.scan.page = wanted.page(&self.scan).min(most);
            let page = backend.query(&self.scan, self.from.as_ref()).await;
            let page = wanted.or_missing(page, Page::default())?;
            self.ended = page.next.is_none();
            self.from = page.next;
            self.ahead = page.rows;
        }
        if self.at == self.rows.len() {
            self.rows = std::mem::take(&mut self.ahead);
            self.at = 0;
        }
        Ok(())
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&other.row_key, &self.row_key).then(other.lane.cmp(&self.lane))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
