//! The sections of a scan: the rows of one layout in one table.

use std::{borrow::Cow, cmp::Ordering, ops::Bound};

use table_model::LayoutInfo;
use table_store::{
    Result, RowRef, RowSet,
    backend::{KeyRange, Partitions, Scan},
    unstable::{client::Client, order},
};
use twox_hash::XxHash3_64;

use super::place::{Point, RowRange, ScanPlace};
use crate::read::existing_slices;

/// The rows of one layout in one table, or a part of them. The sections of a scan are in the order of their rows.
#[derive(Clone, Debug)]
pub struct Section {
    pub layout: usize,
    pub scan: Scan,
    /// True if the table can be dropped meanwhile, as a slice can.
    pub is_slice: bool,
}

/// A share of the partitions: those of one machine of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub number: u64,
    pub count: u64,
}

impl Shard {
    /// Checks whether the partition belongs to the share. It follows from its key alone, so machines need not agree on
    /// anything else.
    pub fn has(self, partition_key: &str) -> bool {
        XxHash3_64::oneshot(partition_key.as_bytes()) % self.count == self.number
    }
}

/// A page of rows of one layout.
pub struct ScannedPage {
    pub layout: usize,
    /// The table; of a sliced entity, the slice.
    pub table: Cow<'static, str>,
    pub(super) rows: RowSet,
    /// Number of the rows that are in the part of the scan that was read.
    pub(super) count: usize,
    pub(super) shard: Option<Shard>,
}

impl ScannedPage {
    /// Keeps the rows for which the condition holds.
    pub fn retain(&mut self, is_kept: impl Fn(RowRef<'_>) -> bool) {
        if self.rows.iter().any(|row| !is_kept(row)) {
            let mut kept = RowSet::default();
            kept.extend(self.rows.iter().take(self.count).filter(|row| is_kept(*row)));
            (self.count, self.rows) = (kept.len(), kept);
        }
    }

    /// Returns a page of rows that are all in the scan.
    pub(super) fn whole(section: &Section, rows: RowSet) -> Self {
        let (table, count) = (section.scan.table.clone(), rows.len());
        Self { layout: section.layout, table, rows, count, shard: None }
    }

    /// Returns the rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = RowRef<'_>> {
        let rows = self.rows.iter().take(self.count);
        rows.filter(|row| self.shard.is_none_or(|shard| shard.has(row.partition_key)))
    }
}

impl Section {
    /// Returns the place after all rows of the section.
    pub(super) fn end(&self) -> ScanPlace {
        let point = match &self.scan.partitions {
            Partitions::One(own) => Some(Point::after_partition(own.clone())),
            Partitions::Range(_) => None,
        };
        self.place(point)
    }

    pub(super) fn place(&self, point: Option<Point>) -> ScanPlace {
        ScanPlace { layout: self.layout, table: self.scan.table.clone().into_owned(), point }
    }

    /// Returns the part of a range that is in the section, as points; `None` if there is none.
    pub(super) fn part(&self, range: &RowRange) -> Option<(Option<Point>, Option<Point>)> {
        let order = |place: &ScanPlace| (place.layout, &*place.table).cmp(&(self.layout, &self.scan.table));
        let from = match &range.from {
            None => None,
            Some(from) => match (order(from), &from.point) {
                (Ordering::Less, _) => None,
                (Ordering::Equal, Some(point)) => Some(point.clone()),
                (Ordering::Equal, None) | (Ordering::Greater, _) => return None,
            },
        };
        let to = match order(&range.to) {
            Ordering::Less => return None,
            Ordering::Equal => range.to.point.clone(),
            Ordering::Greater => None,
        };
        (!self.scans(from.as_ref(), to.as_ref()).is_empty()).then_some((from, to))
    }

    /// Returns the scans of the rows between two points, in order. The rest of a partition has a scan of its own,
    /// because an `or` would be a table scan.
    pub(super) fn scans(&self, from: Option<&Point>, to: Option<&Point>) -> Vec<Scan> {
        let in_partition = |key: &str| {
            let bound = |point: Option<&Point>, bound: fn(String) -> Bound<String>| match point {
                Some(Point { partition_key, row_key: Some(row_key) }) if partition_key == key => bound(row_key.clone()),
                _ => Bound::Unbounded,
            };
            let rows = KeyRange { from: bound(from, Bound::Excluded), to: bound(to, Bound::Included) };
            let rows = self.scan.rows.and(&rows)?;
            Some(Scan { partitions: Partitions::One(key.to_owned()), rows, ..self.scan.clone() })
        };
        let is_before = |key: &str| from.is_some_and(|from| *from >= Point::after_partition(key.to_owned()));
        let is_behind = |key: &str| to.is_some_and(|to| order::compare(&to.partition_key, key).is_lt());
        let range = match &self.scan.partitions {
            Partitions::One(own) if is_before(own) || is_behind(own) => return Vec::new(),
            Partitions::One(own) => return Vec::from_iter(in_partition(own)),
            Partitions::Range(range) => range,
        };
        let mut scans = Vec::new();
        let has = |point: &&Point| point.row_key.is_some() && range.contains(&point.partition_key);
        let (first, end) = (from.filter(has), to.filter(has));
        if let Some(first) = first.filter(|first| !is_behind(&first.partition_key)) {
            scans.extend(in_partition(&first.partition_key));
        }
        let between = KeyRange {
            from: from.map_or(Bound::Unbounded, |from| Bound::Excluded(from.partition_key.clone())),
            to: to.map_or(Bound::Unbounded, |to| match to.row_key {
                None => Bound::Included(to.partition_key.clone()),
                Some(_) => Bound::Excluded(to.partition_key.clone()),
            }),
        };
        if let Some(between) = range.and(&between) {
            scans.push(Scan { partitions: Partitions::Range(between), ..self.scan.clone() });
        }
        let is_same = |end: &&Point| first.is_some_and(|first| first.partition_key == end.partition_key);
        if let Some(end) = end.filter(|end| !is_same(end) && !is_before(&end.partition_key)) {
            scans.extend(in_partition(&end.partition_key));
        }
        scans
    }

    /// Returns the section with only this partition, which it has.
    pub(super) fn of_partition(&self, partition_key: String) -> Self {
        let scan = Scan { partitions: Partitions::One(partition_key), ..self.scan.clone() };
        Self { scan, ..self.clone() }
    }

    /// Returns the section with only the partitions in a range; `None` if there can be none.
    pub fn within(mut self, range: &KeyRange) -> Option<Self> {
        match &self.scan.partitions {
            Partitions::One(own) if !range.contains(own) => return None,
            Partitions::One(_) => {}
            Partitions::Range(all) => self.scan.partitions = Partitions::Range(all.and(range)?),
        }
        Some(self)
    }
}

/// Returns a scan of every row of a layout: all partitions of its table, and the row keys with its prefix.
pub fn all_rows(layout: &LayoutInfo, table: Cow<'static, str>) -> Scan {
    let rows = if layout.row.is_empty() { single(&layout.row_prefix) } else { order::prefixed(&layout.row_prefix) };
    let is_constant = layout.partition.is_empty();
    let partitions = if is_constant { Partitions::One(layout.partition_prefix.to_string()) } else { Partitions::ALL };
    Scan { partitions, rows, ..Scan::all(table) }
}

/// Returns the range of one key.
pub fn single(key: &str) -> KeyRange {
    KeyRange { from: Bound::Included(key.to_owned()), to: Bound::Included(key.to_owned()) }
}

/// Returns the sections of these layouts: one for each table. Costs a list of tables for each layout with slices.
pub async fn sections(
    client: &Client,
    layouts: &'static [LayoutInfo],
    which: impl IntoIterator<Item = usize>,
) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for layout in which {
        let info = &layouts[layout];
        let Some(slice) = &info.slice else {
            sections.push(Section { layout, scan: all_rows(info, info.table.clone()), is_slice: false });
            continue;
        };
        // The names of slices are in the order of time.
        for slice in existing_slices(slice, client, &info.table).await? {
            sections.push(Section { layout, scan: all_rows(info, slice.table.into()), is_slice: true });
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys of which many are equal, and some are in another order by code point.
    fn key() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", "a", "ab", "b", "\u{FFFF}", "\u{10000}"]).prop_map(str::to_owned)
    }

    fn point() -> impl Strategy<Value = Point> {
        (key(), prop::option::of(key())).prop_map(|(partition_key, row_key)| Point { partition_key, row_key })
    }

    fn range() -> impl Strategy<Value = KeyRange> {
        let bound =
            || prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded),];
        (bound(), bound()).prop_map(|(from, to)| KeyRange { from, to })
    }

    fn partitions() -> impl Strategy<Value = Partitions> {
        prop_oneof![key().prop_map(Partitions::One), range().prop_map(Partitions::Range)]
    }

    fn has(scan: &Scan, (partition_key, row_key): (&str, &str)) -> bool {
        let in_partitions = match &scan.partitions {
            Partitions::One(own) => own == partition_key,
            Partitions::Range(range) => range.contains(partition_key),
        };
        in_partitions && scan.rows.contains(row_key)
    }

    depth::laws! {
        4096;

        fn the_scans_between_two_points_have_each_row_between_them_once(
            (partitions, rows) in (partitions(), range()),
            (from, to) in (prop::option::of(point()), prop::option::of(point())),
            (partition_key, row_key) in (key(), key()),
        ) {
            let scan = Scan { partitions, rows, ..Scan::all("T") };
            let section = Section { layout: 0, scan, is_slice: false };
            let keys = (&*partition_key, &*row_key);
            let is_between = from.as_ref().is_none_or(|from| !from.is_after(keys.0, keys.1))
                && to.as_ref().is_none_or(|to| to.is_after(keys.0, keys.1));
            let scans = section.scans(from.as_ref(), to.as_ref());
            let count = scans.iter().filter(|scan| has(scan, keys)).count();
            prop_assert_eq!(count, usize::from(is_between && has(&section.scan, keys)), "{:?}", scans);
        }

        fn a_section_of_some_partitions_has_no_others(
            (partitions, own) in (partitions(), range()),
            (partition_key, row_key) in (key(), key()),
        ) {
            let section = Section { layout: 0, scan: Scan { partitions, ..Scan::all("T") }, is_slice: false };
            let keys = (&*partition_key, &*row_key);
            let expected = has(&section.scan, keys) && own.contains(&partition_key);
            prop_assert_eq!(section.within(&own).is_some_and(|section| has(&section.scan, keys)), expected);
        }
    }
}
