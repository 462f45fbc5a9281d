//! The parts of an entity from which its indexes are read.

use super::{
    field::Field,
    key::{Key, Part},
};
use crate::text::Text;

/// Fields, table and primary key of an entity.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    pub(super) fields: &'a [Field],
    pub(super) table: &'a Text,
    pub(super) partition: &'a Key,
    pub(super) row: &'a Key,
}

impl<'a> Base<'a> {
    /// Returns the parts of both keys.
    pub(super) fn parts(self) -> impl Iterator<Item = &'a Part> {
        self.partition.parts.iter().chain(&self.row.parts)
    }
}
