//! Writing the keys of a layout.

use std::borrow::Cow;

use super::{Encode, Escape, KeyBuffer, KeyPart, KeyProblem, Kind};
use crate::{KeyError, LayoutInfo, PartInfo, limits};

/// The two keys of one layout of an entity, while they are written.
#[derive(Clone, Debug)]
pub struct KeyWriter {
    layout: &'static LayoutInfo,
    pub(crate) partition: KeyBuffer,
    pub(crate) row: KeyBuffer,
    /// The parts written so far, for naming the one that fails.
    partition_parts: usize,
    row_parts: usize,
}

/// Writes a part, and its joint if others follow.
#[inline]
pub(crate) fn write_part<K: Kind, N: Encode<K>>(
    value: K::Value<'_>,
    last: bool,
    out: &mut KeyBuffer,
) -> Result<(), KeyProblem> {
    N::write(value, Escape::part(last), out)?;
    if !last {
        out.push_byte(N::JOINT);
    }
    Ok(())
}

impl KeyWriter {
    /// The constant beginnings of a layout's keys.
    #[inline]
    pub(crate) fn new(layout: &'static LayoutInfo) -> Self {
        let mut writer =
            Self { layout, partition: KeyBuffer::new(), row: KeyBuffer::new(), partition_parts: 0, row_parts: 0 };
        writer.begin();
        writer
    }

    /// Begins anew, in the same memory.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.partition.clear();
        self.partition.push_str(self.layout.partition_prefix);
        self.row.clear();
        self.row.push_str(self.layout.row_prefix);
        (self.partition_parts, self.row_parts) = (0, 0);
    }

    /// Writes the next part of the partition key.
    #[inline]
    pub fn partition<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(&mut self, value: &T) -> Result<(), KeyProblem> {
        self.partition_parts += 1;
        write_part::<T::Kind, N>(value.to_value(), LAST, &mut self.partition)
    }

    /// Writes the next part of the row key.
    #[inline]
    pub fn row<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(&mut self, value: &T) -> Result<(), KeyProblem> {
        self.row_parts += 1;
        write_part::<T::Kind, N>(value.to_value(), LAST, &mut self.row)
    }

    /// The two keys, if every part was written and neither is too long.
    pub(crate) fn finish(self, written: Result<(), KeyProblem>) -> Result<(String, String), Box<KeyError>> {
        if let Err(problem) = written {
            let part = match self.row_parts.checked_sub(1) {
                Some(row) => self.layout.row.get(row),
                None => self.layout.partition.get(self.partition_parts.saturating_sub(1)),
            };
            return Err(self.layout.key_error(part.map_or("", |part| part.field), problem));
        }
        self.layout.check_length(&self.partition, "PartitionKey", self.layout.partition)?;
        self.layout.check_length(&self.row, "RowKey", self.layout.row)?;
        Ok((self.partition.into_string(), self.row.into_string()))
    }
}

impl LayoutInfo {
    /// Whether the service takes a key of this length.
    pub(crate) fn check_length(
        &self,
        key: &KeyBuffer,
        name: &'static str,
        parts: &[PartInfo],
    ) -> Result<(), Box<KeyError>> {
        // A text has no more UTF-16 units than bytes.
        if key.len() > limits::KEY_UNITS {
            let units = limits::units(key.as_str());
            if units > limits::KEY_UNITS {
                let fields: Vec<_> = parts.iter().map(|part| part.field).collect();
                return Err(self.key_error(fields.join("`, `"), KeyProblem::TooLong { key: name, units }));
            }
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn key_error(&self, field: impl Into<Cow<'static, str>>, problem: KeyProblem) -> Box<KeyError> {
        Box::new(KeyError { table: self.table.to_owned(), layout: self.name, field: field.into(), problem })
    }
}
