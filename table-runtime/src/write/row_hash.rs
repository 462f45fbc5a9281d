//! Hashes of rows, by which two scans are compared.

use table_model::unstable::entity::WRITE_ID;
use table_store::{Properties, ValueRef, unstable::RowKeys};
use twox_hash::XxHash3_128;

/// The hasher of rows. It uses its memory again for each row.
#[derive(Default)]
pub struct RowHasher(Vec<u8>);

impl RowHasher {
    /// Adds a number or a text's length.
    pub fn number(&mut self, number: usize) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        // The length keeps `ab`, `c` apart from `a`, `bc`.
        self.number(text.len()).0.extend_from_slice(text.as_bytes());
        self
    }

    /// Adds the row of an index that leads to an entity.
    pub fn index_row(&mut self, layout: usize, keys: (&str, &str), entity: &RowKeys) -> &mut Self {
        self.number(layout).text(keys.0).text(keys.1).text(&entity.partition_key).text(&entity.row_key)
    }

    /// Adds properties, whatever their order. Leaves out write ids, which differ from write to write.
    pub fn properties<'a>(&mut self, properties: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> &mut Self {
        let mut sorted: Vec<_> = properties.filter(|(name, _)| *name != WRITE_ID).collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        let mut properties = Properties::default();
        for (name, value) in sorted {
            // Every NaN is the same value.
            let value = match value {
                ValueRef::Double(number) if number.is_nan() => ValueRef::Double(f64::NAN),
                value => value,
            };
            properties.push(name, value);
        }
        // The encoding names each value's type and length.
        self.0.extend_from_slice(properties.as_bytes());
        self
    }

    /// Returns the hash, and begins the next one.
    pub fn finish(&mut self) -> u128 {
        let hash = XxHash3_128::oneshot(&self.0);
        self.0.clear();
        hash
    }
}
