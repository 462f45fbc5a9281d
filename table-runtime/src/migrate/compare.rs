//! Comparison of two places by hashes.

use std::collections::HashMap;

use twox_hash::XxHash3_128;

use crate::{
    Properties, QueryError, Result, Row, RowRef, ValueRef,
    entity::{self, WRITE_ID},
    index::{EncodedRow, Schema},
    maintenance::ScannedPage,
    row::RowKeys,
};

/// Hashes of the rows that the new place should have: of their contents, by those of their keys.
#[derive(Default)]
pub(super) struct Expected(HashMap<u128, u128>);

/// Differences between the rows that the new place should have and those that it has.
pub(super) struct Differences {
    /// Rows that are missing or have other contents.
    missing: Expected,
    /// Number of entities that the new place should have.
    entities: usize,
    /// Number of rows that the new place should not have.
    superfluous: usize,
}

impl Expected {
    /// Adds the row of an entity.
    ///
    /// # Errors
    /// Returns an error if another entity has the same keys.
    pub(super) fn add(&mut self, schema: &Schema, row: &EncodedRow) -> Result<()> {
        let RowKeys { partition_key, row_key } = &row.keys;
        if self.0.insert(hash_keys(partition_key, row_key), hash_contents(row.properties.iter())).is_none() {
            return Ok(());
        }
        let problem = format!(
            "two old entities get the new key (PartitionKey='{partition_key}',RowKey='{row_key}'); convert them to \
             entities with different keys"
        );
        Err(Box::new(QueryError { table: schema.table().to_owned(), layout: "key", problem }).into())
    }
}

impl Differences {
    pub(super) fn new(expected: Expected) -> Self {
        let entities = expected.0.len();
        Self { missing: expected, entities, superfluous: 0 }
    }

    /// Compares a page of the new place. Returns the keys of the entities that it should not have, or not with these
    /// contents.
    pub(super) fn compare(&mut self, schema: &Schema, page: &ScannedPage) -> Result<Vec<RowKeys>> {
        let mut removals = Vec::new();
        for row in page.rows.iter().filter(|row| schema.has_entity(*row)) {
            // A pending insert is one of a run that was stopped. The entity counts as missing.
            if entity::is_pending(&page.table, row)? {
                continue;
            }
            let key = hash_keys(row.partition_key, row.row_key);
            let Row { properties, .. } = row.to_row();
            match self.missing.0.get(&key) {
                Some(expected) if *expected == hash_contents(properties.iter()) => {
                    self.missing.0.remove(&key);
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
        self.missing.0.len() + self.superfluous
    }

    pub(super) fn superfluous(&self) -> usize {
        self.superfluous
    }

    pub(super) fn has_missing(&self) -> bool {
        !self.missing.0.is_empty()
    }

    /// Checks whether the row with these keys is missing or has other contents.
    pub(super) fn is_missing(&self, keys: &RowKeys) -> bool {
        self.missing.0.contains_key(&hash_keys(&keys.partition_key, &keys.row_key))
    }

    /// Returns the number of entities that the new place should have.
    pub(super) fn entities(&self) -> usize {
        self.entities
    }
}

fn hash_keys(partition_key: &str, row_key: &str) -> u128 {
    // No key contains a control character.
    XxHash3_128::oneshot(format!("{partition_key}\0{row_key}").as_bytes())
}

/// Returns a hash of the properties, whatever their order. Write ids differ from write to write.
fn hash_contents<'a>(properties: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> u128 {
    let mut sorted: Vec<_> = properties.filter(|(name, _)| *name != WRITE_ID).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    let mut encoded = Properties::with_capacity(256);
    for (name, value) in sorted {
        encoded.push(name, value);
    }
    XxHash3_128::oneshot(encoded.as_bytes())
}
