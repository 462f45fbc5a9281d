//! What a query reads, one thing after the other: scans, and merges of scans.

use std::{cmp::Ordering, collections::VecDeque, ops::Bound, sync::Arc};

use super::{cursor::Cursor, merge::Merge};
use crate::{
    Error, Result, RowRef,
    backend::{Backend, Continuation, Partitions, Scan},
    key::order,
    limits,
};

/// What a row of a table is lent to.
pub(super) type TableReader<'a> = &'a mut (dyn FnMut(&str, RowRef<'_>) -> Result<()> + Send);

/// The rows of a query, in its order.
#[derive(Default)]
pub(super) struct Stages(VecDeque<Stage>);

#[allow(clippy::large_enum_variant, reason = "the large one is what nearly every query has")]
enum Stage {
    /// A scan, and where it goes on.
    One(Scan, Option<Continuation>),
    Merged(Merge),
}

/// How many rows are asked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// So many are missing.
    pub(super) left: usize,
    /// Whether rows were read and not given out.
    pub(super) dropped: bool,
    /// Whether a table that is missing has no rows, and is no mistake.
    pub(super) sliced: bool,
}

impl Wanted {
    /// What a slice holds that is not there, or not for long.
    pub(super) fn or_missing<T>(self, read: Result<T>, nothing: T) -> Result<T> {
        match read {
            Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if self.sliced => Ok(nothing),
            read => read,
        }
    }

    /// The size of a scan's next page.
    pub(super) fn page(self, scan: &Scan) -> u32 {
        let left = u32::try_from(self.left).unwrap_or(u32::MAX);
        // What was dropped is made up for, in few requests even where there is much of it.
        let size = if self.dropped { left.max(scan.page.saturating_mul(2)) } else { left };
        size.min(limits::PAGE)
    }
}

impl Stages {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds scans whose rows are read after all others: of several, merged.
    pub(super) fn push(&mut self, mut scans: Vec<Scan>) {
        match (scans.pop(), scans.is_empty()) {
            (None, _) => {}
            (Some(scan), true) => self.0.push_back(Stage::One(scan, None)),
            (Some(last), false) => {
                scans.push(last);
                self.0.push_back(Stage::Merged(Merge::new(scans)));
            }
        }
    }

    /// Lends some more rows to `read`; `false` at the end. They may be none all the same, or, where they are not
    /// merged, more than were asked for.
    pub(super) async fn next(
        &mut self,
        backend: &Arc<dyn Backend>,
        wanted: Wanted,
        read: TableReader<'_>,
    ) -> Result<bool> {
        let is_done = match self.0.front_mut() {
            None => return Ok(false),
            Some(Stage::One(scan, from)) => {
                scan.page = wanted.page(scan);
                let table = &*scan.table;
                let page = backend.query_with(scan, from.as_ref(), &mut |row| read(table, row)).await;
                *from = wanted.or_missing(page, None)?;
                from.is_none()
            }
            Some(Stage::Merged(merge)) => merge.next(backend, wanted, read).await?,
        };
        if is_done {
            self.0.pop_front();
        }
        Ok(true)
    }
}

/// What scans that are merged have after the row of a cursor, stage after stage.
pub(super) fn after(scans: &[Scan], cursor: &Cursor) -> Vec<Vec<Scan>> {
    let first = scans.iter().map(|scan| rest_of_partition(scan, cursor)).collect();
    // An `or` over two keys would be a scan of the table to the service: first the rest of the row's partition, then
    // the partitions after it.
    let further = scans.iter().filter(|scan| !matches!(scan.partitions, Partitions::One(_)));
    let further: Vec<_> = further
        .map(|scan| Scan { partitions: Partitions::After(cursor.partition_key.clone()), ..scan.clone() })
        .collect();
    [first, further].into_iter().filter(|stage| !stage.is_empty()).collect()
}

/// What a scan has after the row of a cursor, or in the row's partition.
fn rest_of_partition(scan: &Scan, cursor: &Cursor) -> Scan {
    let mut scan = scan.clone();
    let row_key = cursor.row_key.clone();
    // Of merged partitions, rows with one row key come in the order of the partitions.
    let mut to_come = cursor.listed.is_some();
    match &scan.partitions {
        Partitions::One(own) => match order::compare(own, &cursor.partition_key) {
            Ordering::Less => to_come = false,
            Ordering::Equal => {}
            Ordering::Greater => to_come = true,
        },
        Partitions::All | Partitions::After(_) => scan.partitions = Partitions::One(cursor.partition_key.clone()),
    }
    // A cursor is text that went pointer other hands: it never leads out of its query.
    let within = match &scan.rows.from {
        Bound::Included(from) => order::compare(&row_key, from).is_ge(),
        Bound::Excluded(from) => order::compare(&row_key, from).is_gt(),
        Bound::Unbounded => true,
    };
    if within {
        scan.rows.from = if to_come { Bound::Included(row_key) } else { Bound::Excluded(row_key) };
    }
    scan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::KeyRange;

    #[test]
    fn no_cursor_leads_out_of_its_query() {
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
            let scans = after(
                std::slice::from_ref(&scan),
                &Cursor { query: 0, left: None, partition_key, row_key, listed: None, slice: None },
            );
            scans.into_iter().flatten().map(|scan| (scan.partitions, scan.rows.from)).collect::<Vec<_>>()
        };
        let marcus = || Partitions::One("Marcus".to_owned());
        assert_eq!(resumed(""), [(marcus(), Bound::Included("5".to_owned()))]);
        assert_eq!(resumed("5"), [(marcus(), Bound::Excluded("5".to_owned()))]);
        assert_eq!(resumed("6"), [(marcus(), Bound::Excluded("6".to_owned()))]);
    }
}
