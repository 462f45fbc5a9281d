//! Keys of the rows that an entity has in an index with `each`, from one of these rows.

use table_store::{RowRef, error::KeyProblem, unstable::RowKeys};

use super::owner::{Segment, split};
use crate::{
    key::{Encode, KeyWriter, Kind, PartSink},
    layout::{LayoutExt, LayoutInfo, of_row, segments},
    sealed::SealedSink,
};

/// Writer of the keys that differ from those of a stored row only in the element.
pub struct ElementKeys<'a> {
    layout: &'static LayoutInfo,
    /// Partition key of the entity, if the rows are in it.
    own_partition: Option<&'a str>,
    /// Parts of the stored keys, without those of the entity's own partition key.
    segments: Vec<Segment<'a>>,
    /// Number of these parts that were copied, or written anew.
    written: usize,
    keys: KeyWriter<'static>,
}

impl SealedSink for ElementKeys<'_> {}

impl<'a> ElementKeys<'a> {
    /// Creates a writer for a row of the index.
    pub fn new(layout: &'static LayoutInfo, row: &RowRef<'a>) -> table_store::Result<Self> {
        let segments = split(layout, row.partition_key, row.row_key)
            .map_err(|(field, problem)| of_row(layout.key_error(field, problem), &layout.table, row))?;
        let own_partition = layout.is_same_partition().then_some(row.partition_key);
        let mut keys = Self { layout, own_partition, segments, written: 0, keys: KeyWriter::new(layout) };
        keys.begin();
        Ok(keys)
    }

    fn begin(&mut self) {
        self.written = 0;
        if let Some(partition) = self.own_partition {
            self.keys.set_partition(partition);
        }
    }

    /// Copies the stored parts before the next element; without one, all that are left.
    fn copy(&mut self) {
        let in_partition = if self.own_partition.is_some() { 0 } else { self.layout.partition.len() };
        while let Some(segment) = self.segments.get(self.written).filter(|segment| !segment.part.each) {
            let key = if self.written < in_partition { &mut self.keys.partition } else { &mut self.keys.row };
            key.push_str(segment.text);
            if !segment.last {
                key.push(segments::delimiter(self.layout, segment.part));
            }
            self.written += 1;
        }
    }

    /// Completes the row of an element. The keys of the next one begin anew.
    pub fn end_row(&mut self) {
        self.copy();
        self.keys.end_row();
        self.begin();
    }

    /// Returns the keys of the rows.
    pub fn finish(self) -> Vec<RowKeys> {
        self.keys.ended
    }
}

impl PartSink for ElementKeys<'_> {
    type Output = Result<(), KeyProblem>;

    fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.copy();
        self.written += 1;
        self.keys.push_partition::<K, N>(value, last)
    }

    fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.copy();
        self.written += 1;
        self.keys.push_row::<K, N>(value, last)
    }
}
