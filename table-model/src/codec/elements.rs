//! Keys of the rows that an entity has in an index with `each`, from one of these rows.

use table_store::{RowRef, error::KeyProblem, unstable::RowKeys};

use super::owner::{Segment, split};
use crate::{
    key::{Encode, KeyBuffer, Kind, PartSink, write_part},
    layout::{LayoutExt, LayoutInfo, PartInfo, segments},
    sealed::SealedSink,
};

/// Writer of the keys that differ from those of a stored row only in the element.
pub struct ElementKeys<'a> {
    layout: &'static LayoutInfo,
    /// Partition key of the entity, if the rows are in it.
    own_partition: Option<&'a str>,
    /// Parts of the stored keys, without those of the entity's own partition key.
    segments: Vec<Segment<'a>>,
    partition: KeyBuffer,
    row: KeyBuffer,
    /// Number of parts written so far.
    partition_parts: usize,
    row_parts: usize,
    ended: Vec<RowKeys>,
}

impl SealedSink for ElementKeys<'_> {}

impl<'a> ElementKeys<'a> {
    /// Creates a writer for a row of the index.
    pub fn new(layout: &'static LayoutInfo, row: &RowRef<'a>) -> table_store::Result<Self> {
        let mut segments = Vec::with_capacity(layout.partition.len() + layout.row.len());
        split(layout, row.partition_key, row.row_key, &mut segments).map_err(|(field, problem)| {
            let mut error = layout.key_error(field, problem);
            error.row = Some(row.id(&layout.table));
            error
        })?;
        let mut keys = Self {
            layout,
            own_partition: layout.is_same_partition().then_some(row.partition_key),
            segments,
            partition: KeyBuffer::new(),
            row: KeyBuffer::new(),
            partition_parts: 0,
            row_parts: 0,
            ended: Vec::new(),
        };
        keys.begin();
        Ok(keys)
    }

    fn begin(&mut self) {
        self.partition.clear();
        self.partition.push_str(self.own_partition.unwrap_or(&self.layout.partition_prefix));
        self.row.clear();
        self.row.push_str(&self.layout.row_prefix);
        (self.partition_parts, self.row_parts) = (0, 0);
    }

    /// Copies the stored parts before the next element; without one, all that are left.
    fn copy(&self, parts: &'static [PartInfo], first: usize, written: &mut usize, key: &mut KeyBuffer) {
        while let Some(part) = parts.get(*written).filter(|part| !part.each) {
            key.push_str(self.segments.get(first + *written).map_or("", |segment| segment.text));
            *written += 1;
            if *written < parts.len() {
                key.push(segments::delimiter(self.layout, part));
            }
        }
    }

    /// Returns the number of the stored parts of the partition key.
    fn stored_in_partition(&self) -> usize {
        if self.own_partition.is_some() { 0 } else { self.layout.partition.len() }
    }

    fn copy_partition(&mut self) {
        if self.own_partition.is_none() {
            let (mut written, mut key) = (self.partition_parts, std::mem::take(&mut self.partition));
            self.copy(&self.layout.partition, 0, &mut written, &mut key);
            (self.partition_parts, self.partition) = (written, key);
        }
    }

    fn copy_row(&mut self) {
        let (mut written, mut key) = (self.row_parts, std::mem::take(&mut self.row));
        self.copy(&self.layout.row, self.stored_in_partition(), &mut written, &mut key);
        (self.row_parts, self.row) = (written, key);
    }

    /// Completes the row of an element. The keys of the next one begin anew.
    pub fn end_row(&mut self) {
        self.copy_partition();
        self.copy_row();
        let (partition_key, row_key) = (self.partition.as_str().to_owned(), self.row.as_str().to_owned());
        self.ended.push(RowKeys { partition_key, row_key });
        self.begin();
    }

    /// Returns the keys of the rows.
    pub fn finish(self) -> Vec<RowKeys> {
        self.ended
    }
}

impl PartSink for ElementKeys<'_> {
    type Output = Result<(), KeyProblem>;

    fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.copy_partition();
        self.partition_parts += 1;
        write_part::<K, N>(value, last, "PartitionKey", &mut self.partition)
    }

    fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.copy_row();
        self.row_parts += 1;
        write_part::<K, N>(value, last, "RowKey", &mut self.row)
    }
}
