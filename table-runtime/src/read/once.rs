//! The rule by which a query of an index with `each` returns an entity once.

use std::collections::HashSet;

use table_store::{
    backend::{KeyRange, Partitions, Scan},
    unstable::{RowKeys, order},
};

/// The keys that a query reads, if they can be those of several rows of one entity. Of these rows only the first one in the
/// order of the query counts, so that no query has to remember what it has returned.
#[derive(Clone, Debug)]
pub struct Once {
    partitions: HashSet<String>,
    rows: KeyRange,
}

impl Once {
    /// Returns the rule for these scans. They differ only in their partitions.
    pub fn new(scans: &[Scan]) -> Self {
        let partition = |scan: &Scan| match &scan.partitions {
            Partitions::One(partition) => Some(partition.clone()),
            // No index is read in a range of partitions.
            Partitions::Range(_) => None,
        };
        let rows = scans.first().map_or(KeyRange::ALL, |scan| scan.rows.clone());
        Self { partitions: scans.iter().filter_map(partition).collect(), rows }
    }

    /// Checks whether a row of an entity is the first one that the query reads, given the keys of all of the entity's rows in
    /// the index. Returns false if the entity does not have the row.
    pub fn is_first(&self, row: (&str, &str), rows: impl Iterator<Item = RowKeys>) -> bool {
        let is_read =
            |keys: &RowKeys| self.rows.contains(&keys.row_key) && self.partitions.contains(&keys.partition_key);
        // Rows that are merged from several partitions are in the order of their row keys.
        let first = rows.filter(is_read).min_by(|left, right| {
            order::compare(&left.row_key, &right.row_key)
                .then_with(|| order::compare(&left.partition_key, &right.partition_key))
        });
        first.is_some_and(|first| first.is(row))
    }
}
