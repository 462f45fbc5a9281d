//! Comparison of two places by hashes.

use std::collections::HashMap;

use table_store::{Result, RowRef, error::QueryError, unstable::RowKeys};

use crate::{
    admin::{catalog::EntityRows, jobs::ScannedPage},
    model::{entity, row_hash::RowHasher},
    write::index::{EncodedRow, Schema},
};

/// Hashes of the rows that the new place should have: of their contents, by those of their keys.
#[derive(Default)]
pub(super) struct Expected {
    contents: HashMap<u128, u128>,
    hasher: RowHasher,
}

/// Differences between the rows that the new place should have and those that it has.
pub(super) struct Differences {
    /// Rows that are missing or have other contents.
    missing: Expected,
    /// Number of entities that the new place should have.
    entities: usize,
    /// Number of rows that the new place should not have.
    superfluous: usize,
    /// True if there are pending inserts, of a run that was stopped.
    has_pending: bool,
}

impl Expected {
    /// Adds the row of an entity.
    ///
    /// # Errors
    /// Returns an error if another entity has the same keys.
    pub(super) fn add(&mut self, schema: &Schema, row: &EncodedRow) -> Result<()> {
        let RowKeys { partition_key, row_key } = &row.keys;
        let keys = self.hasher.text(partition_key).text(row_key).finish();
        let contents = self.hasher.properties(row.properties.iter()).finish();
        if self.contents.insert(keys, contents).is_none() {
            return Ok(());
        }
        let problem = format!(
            "two old entities get the new key (PartitionKey='{partition_key}',RowKey='{row_key}'); convert them to \
             entities with different keys"
        );
        Err(Box::new(QueryError::new(schema.table().to_owned(), "key", problem)).into())
    }
}

impl Differences {
    pub(super) fn new(expected: Expected) -> Self {
        let entities = expected.contents.len();
        Self { missing: expected, entities, superfluous: 0, has_pending: false }
    }

    /// Compares a page of the new place. Returns the keys of the entities that it should not have, or not with these
    /// contents.
    pub(super) fn compare(&mut self, entities: &EntityRows, page: &ScannedPage) -> Result<Vec<RowKeys>> {
        let mut removals = Vec::new();
        for row in page.rows.iter().filter(|row| entities.has(*row)) {
            // A pending insert is one of a run that was stopped. The entity counts as missing.
            if entity::is_pending(&page.table, row)? {
                self.has_pending = true;
                continue;
            }
            let Expected { contents, hasher } = &mut self.missing;
            let keys = hasher.text(row.partition_key).text(row.row_key).finish();
            match contents.get(&keys) {
                Some(expected) if *expected == hasher.properties(row.properties).finish() => {
                    contents.remove(&keys);
                }
                Some(_) => removals.push(RowRef::keys(row)),
                None => {
                    self.superfluous += 1;
                    removals.push(RowRef::keys(row));
                }
            }
        }
        Ok(removals)
    }

    /// Returns the number of differences.
    pub(super) fn count(&self) -> usize {
        self.missing.contents.len() + self.superfluous
    }

    pub(super) fn has_pending(&self) -> bool {
        self.has_pending
    }

    pub(super) fn superfluous(&self) -> usize {
        self.superfluous
    }

    pub(super) fn has_missing(&self) -> bool {
        !self.missing.contents.is_empty()
    }

    /// Checks whether the row with these keys is missing or has other contents.
    pub(super) fn is_missing(&self, keys: &RowKeys) -> bool {
        let hash = RowHasher::default().text(&keys.partition_key).text(&keys.row_key).finish();
        self.missing.contents.contains_key(&hash)
    }

    /// Returns the number of entities that the new place should have.
    pub(super) fn entities(&self) -> usize {
        self.entities
    }
}
