//! Layouts: the tables and keys of an entity's rows.

use super::{
    index::Index,
    key::{Key, Part},
};
use crate::{encoding::Encoding, text::Text};

/// Table and keys of the entity's own row, or of its row in an index.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// The position among the layouts; 0 is the primary key.
    pub(crate) number: usize,
    pub(crate) table: &'a Text,
    pub(crate) partition: &'a Key,
    pub(crate) row: &'a Key,
    /// The index; `None` for the primary key.
    pub(crate) index: Option<&'a Index>,
}

/// Way in which a query reaches the partitions of a layout. The numbers count hash partitions.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// The arguments determine the partition.
    Opened,
    /// The partition key is derived from the row key.
    Derived,
    /// The row key determines one of the hash partitions.
    Spread(usize),
    /// The rows of a value may be in any of the hash partitions.
    FanOut(usize),
}

impl<'a> Layout<'a> {
    /// Returns the name that errors and queries use.
    pub(crate) fn name(self) -> &'a str {
        self.index.map_or("key", |index| &index.name.value)
    }

    /// Returns the part from which the end of the partition key is derived: the first part of the row key, if the last
    /// part of the partition key has the same field.
    pub(crate) fn derivation(self) -> Option<&'a Part> {
        let last = self.partition.parts.last()?;
        // In an index the parts of the primary key only make the row key unique.
        let derives = |first: &&Part| first.field == last.field && (first.is_index_value || self.index.is_none());
        self.row.parts.first().filter(derives)
    }

    /// Returns the way in which a query reaches the partitions.
    pub(crate) fn access(self) -> Access {
        let is_derived = self.derivation().is_some();
        match self.partition.parts.last().map(|last| &last.encoding) {
            Some(Encoding::Hash(buckets, _)) if is_derived => Access::Spread(*buckets),
            Some(Encoding::Hash(buckets, _)) => Access::FanOut(*buckets),
            _ if is_derived => Access::Derived,
            _ => Access::Opened,
        }
    }
}
