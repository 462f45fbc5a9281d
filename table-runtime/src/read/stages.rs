//! Stages of a query, which it reads one after the other: scans, and merges of scans.

use std::{cmp::Ordering, collections::VecDeque, ops::Bound, sync::Arc};

use table_store::{
    Error, Result, RowRef,
    backend::{KeyRange, Partitions, Scan},
    unstable::{ScanProgress, client::Client, limits, order},
};

use super::{cursor::Position, merge::Merge};

/// Callback for a row and the name of its table.
pub(super) type OnTableRow<'a> = &'a mut (dyn FnMut(&str, RowRef<'_>) -> Result<()> + Send);

/// Stages of a query, in the order of its rows.
#[derive(Default)]
pub(super) struct Stages(VecDeque<Stage>);

#[allow(clippy::large_enum_variant, reason = "nearly every query has the large variant")]
enum Stage {
    One(Scan, ScanProgress),
    Merged(Merge),
}

/// Demand for the rows of a next page.
#[derive(Clone, Copy)]
pub(super) struct PageDemand {
    /// Number of rows that may still be returned.
    pub(super) rows: usize,
    /// True if rows were read and not returned.
    pub(super) skipped_any: bool,
    /// True if the tables are slices: a missing slice has no rows, and is not an error.
    pub(super) is_sliced: bool,
}

impl PageDemand {
    /// Ends the scan of a slice that does not exist, or is being deleted: it has no rows.
    pub(super) fn or_missing<T: Default>(self, read: Result<T>, progress: &mut ScanProgress) -> Result<T> {
        match read {
            Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if self.is_sliced => {
                progress.end();
                Ok(T::default())
            }
            read => read,
        }
    }

    /// Returns the size of a scan's next page.
    pub(super) fn page(self, scan: &Scan) -> u32 {
        let rows = u32::try_from(self.rows).unwrap_or(u32::MAX);
        // After rows were skipped, the page size doubles, so that many skipped rows still take few requests.
        let size = if self.skipped_any { rows.max(scan.page.saturating_mul(2)) } else { rows };
        size.min(limits::PAGE)
    }
}

impl Stages {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a stage after all others. The rows of several scans are merged.
    pub(super) fn push(&mut self, mut scans: Vec<Scan>) {
        match (scans.pop(), scans.is_empty()) {
            (None, _) => {}
            (Some(scan), true) => self.0.push_back(Stage::One(scan, ScanProgress::default())),
            (Some(last), false) => {
                scans.push(last);
                self.0.push_back(Stage::Merged(Merge::new(scans)));
            }
        }
    }

    /// Calls `read` for some more rows; returns false at the end. It may return true without a call, and a scan that is
    /// not merged may return more rows than were asked for.
    pub(super) async fn next(
        &mut self,
        backend: &Arc<Client>,
        demand: PageDemand,
        read: OnTableRow<'_>,
    ) -> Result<bool> {
        let is_done = match self.0.front_mut() {
            None => return Ok(false),
            Some(Stage::One(scan, progress)) => {
                scan.page = demand.page(scan);
                let table = &*scan.table;
                let page = backend.next_page_with(scan, progress, &mut |row| read(table, row)).await;
                demand.or_missing(page, progress)?;
                progress.has_ended()
            }
            Some(Stage::Merged(merge)) => merge.next(backend, demand, read).await?,
        };
        if is_done {
            self.0.pop_front();
        }
        Ok(true)
    }
}

/// Returns the stages that merged scans have after the row of a position.
pub(super) fn after(scans: &[Scan], position: &Position) -> Vec<Vec<Scan>> {
    let first = scans.iter().filter_map(|scan| rest_of_partition(scan, position)).collect();
    // The service answers an `or` over two keys with a scan of the table. Two stages avoid it: the rest of the row's
    // partition, then the partitions after it.
    let further = scans.iter().filter_map(|scan| further_partitions(scan, position));
    [first, further.collect()].into_iter().filter(|stage: &Vec<_>| !stage.is_empty()).collect()
}

/// Returns the scan of the partitions after that of a row; `None` if the scan reads one partition.
fn further_partitions(scan: &Scan, position: &Position) -> Option<Scan> {
    let Partitions::Range(range) = &scan.partitions else { return None };
    let mut scan = scan.clone();
    // The position of a cursor comes from outside, so its partition must not extend the range of its query.
    if range.is_after_lower(&position.partition_key) {
        let from = Bound::Excluded(position.partition_key.clone());
        scan.partitions = Partitions::Range(KeyRange { from, to: range.to.clone() });
    }
    Some(scan)
}

/// Returns the rest of a scan after a row; for a scan of many partitions, in the row's partition only.
/// Returns `None` if the scan does not read that partition.
fn rest_of_partition(scan: &Scan, position: &Position) -> Option<Scan> {
    let mut scan = scan.clone();
    let row_key = position.row_key.clone();
    // If partitions are merged, rows with equal row keys come in the order of the partitions.
    let mut to_come = position.listed.is_some();
    match &scan.partitions {
        Partitions::One(own) => match order::compare(own, &position.partition_key) {
            Ordering::Less => to_come = false,
            Ordering::Equal => {}
            Ordering::Greater => to_come = true,
        },
        Partitions::Range(range) if range.contains(&position.partition_key) => {
            scan.partitions = Partitions::One(position.partition_key.clone());
        }
        Partitions::Range(_) => return None,
    }
    // Neither must its row key.
    if scan.rows.is_after_lower(&row_key) {
        scan.rows.from = if to_come { Bound::Included(row_key) } else { Bound::Excluded(row_key) };
    }
    Some(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_does_not_extend_the_range_of_its_query() {
        let rows = KeyRange { from: Bound::Included("5".to_owned()), to: Bound::Excluded("7".to_owned()) };
        let scan = Scan {
            table: "Posts".into(),
            partitions: Partitions::One("Marcus".to_owned()),
            rows,
            filter: None,
            select: None,
            page: 1,
        };
        let resumed = |row_key: &str| {
            let (partition_key, row_key) = ("other".to_owned(), row_key.to_owned());
            let scans = after(std::slice::from_ref(&scan), &Position { partition_key, row_key, ..Position::default() });
            scans.into_iter().flatten().map(|scan| (scan.partitions, scan.rows.from)).collect::<Vec<_>>()
        };
        let marcus = || Partitions::One("Marcus".to_owned());
        assert_eq!(resumed(""), [(marcus(), Bound::Included("5".to_owned()))]);
        assert_eq!(resumed("5"), [(marcus(), Bound::Excluded("5".to_owned()))]);
        assert_eq!(resumed("6"), [(marcus(), Bound::Excluded("6".to_owned()))]);
    }
}
