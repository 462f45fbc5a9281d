//! Places between rows, and the ranges between two of them.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use table_store::{RowRef, unstable::order};

/// A place between the rows of a table: after a row, or after all rows of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub partition_key: String,
    /// `None` after all rows of the partition.
    pub row_key: Option<String>,
}

impl Point {
    pub fn after(row: RowRef<'_>) -> Self {
        Self { partition_key: row.partition_key.to_owned(), row_key: Some(row.row_key.to_owned()) }
    }

    pub const fn after_partition(partition_key: String) -> Self {
        Self { partition_key, row_key: None }
    }

    /// Checks whether a row is located before the place.
    pub fn is_after(&self, partition_key: &str, row_key: &str) -> bool {
        order::compare(partition_key, &self.partition_key)
            .then_with(|| self.row_key.as_ref().map_or(Ordering::Less, |own| order::compare(row_key, own)))
            .is_le()
    }
}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.partition_key, &other.partition_key)
            .then_with(|| last(self.row_key.as_deref(), other.row_key.as_deref(), order::compare))
    }
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two values, of which none is the greatest.
fn last<T>(own: Option<T>, other: Option<T>, compare: impl FnOnce(T, T) -> Ordering) -> Ordering {
    match (own, other) {
        (Some(own), Some(other)) => compare(own, other),
        (own, other) => own.is_none().cmp(&other.is_none()),
    }
}

/// A place between the rows of a scan: one of a table of a layout, or after all rows of that table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPlace {
    pub layout: usize,
    /// The table; of a sliced entity, the slice.
    pub table: String,
    /// `None` after all rows of the table.
    pub point: Option<Point>,
}

impl ScanPlace {
    /// Checks whether a row of the scan is located before the place.
    fn is_after(&self, layout: usize, table: &str, (partition_key, row_key): (&str, &str)) -> bool {
        (layout, table)
            .cmp(&(self.layout, &self.table))
            .then_with(|| match &self.point {
                Some(point) if !point.is_after(partition_key, row_key) => Ordering::Greater,
                _ => Ordering::Less,
            })
            .is_lt()
    }
}

impl Ord for ScanPlace {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.layout, &self.table)
            .cmp(&(other.layout, &other.table))
            .then_with(|| last(self.point.as_ref(), other.point.as_ref(), Point::cmp))
    }
}

impl PartialOrd for ScanPlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The rows between two places of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRange {
    /// `None` before the first row of the scan.
    pub from: Option<ScanPlace>,
    pub to: ScanPlace,
}

/// Checks whether a row is in one of these ranges, which are in order.
pub fn includes(ranges: &[RowRange], layout: usize, table: &str, keys: (&str, &str)) -> bool {
    let at = ranges.partition_point(|range| !range.to.is_after(layout, table, keys));
    ranges.get(at).is_some_and(|range| range.from.as_ref().is_none_or(|from| !from.is_after(layout, table, keys)))
}

/// Returns the rows that are in a range of both lists, each of which is in order.
pub fn intersection(own: &[RowRange], others: &[RowRange]) -> Vec<RowRange> {
    let mut both = Vec::new();
    for one in own {
        for other in others {
            let from = one.from.as_ref().max(other.from.as_ref());
            let to = (&one.to).min(&other.to);
            if from.is_none_or(|from| from < to) {
                both.push(RowRange { from: from.cloned(), to: to.clone() });
            }
        }
    }
    both
}
