//! The rule by which a query of an index with `each` returns an entity once.

use table_store::{
    backend::{Partitions, Scan},
    unstable::{RowKeys, order},
};

/// The keys that a query reads, if they can be those of several rows of one entity. Of these rows only the first one in the
/// order of the query counts, so that no query has to remember what it has returned.
#[derive(Clone, Debug)]
pub struct Once {
    scans: Vec<Scan>,
}

impl Once {
    pub fn new(scans: &[Scan]) -> Self {
        Self { scans: scans.to_vec() }
    }

    /// Checks whether a row of an entity is the first one that the query reads, given the keys of all of the entity's rows in
    /// the index. Returns false if the entity does not have the row.
    pub fn is_first(&self, row: (&str, &str), rows: impl Iterator<Item = RowKeys>) -> bool {
        let read = rows.filter(|keys| self.reads(keys));
        let first = read.min_by(|left, right| {
            order::compare(&left.row_key, &right.row_key)
                .then_with(|| order::compare(&left.partition_key, &right.partition_key))
        });
        first.is_some_and(|first| (first.partition_key.as_str(), first.row_key.as_str()) == row)
    }

    fn reads(&self, RowKeys { partition_key, row_key }: &RowKeys) -> bool {
        self.scans.iter().any(|scan| {
            let in_partition = match &scan.partitions {
                Partitions::One(partition) => partition == partition_key,
                Partitions::Range(range) => range.contains(partition_key),
            };
            in_partition && scan.rows.contains(row_key)
        })
    }
}
