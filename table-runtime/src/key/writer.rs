//! Writing the keys of a layout.

use super::{Encode, Escape, KeyBuffer, KeyProblem, Kind};
use crate::{KeyError, LayoutInfo, limits};

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

/// Writes a part of the key of that name, and its joint if others follow.
#[inline]
pub(crate) fn write_part<K: Kind, N: Encode<K>>(
    value: K::Value<'_>,
    last: bool,
    key: &'static str,
    out: &mut KeyBuffer,
) -> Result<(), KeyProblem> {
    N::write(value, Escape::part(last), out)?;
    // Here, where it is known which part is too much.
    check_length(key, out)?;
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
    pub fn partition<K: Kind, N: Encode<K>, const LAST: bool>(
        &mut self,
        value: K::Value<'_>,
    ) -> Result<(), KeyProblem> {
        self.partition_parts += 1;
        write_part::<K, N>(value, LAST, "PartitionKey", &mut self.partition)
    }

    /// Writes the next part of the row key.
    #[inline]
    pub fn row<K: Kind, N: Encode<K>, const LAST: bool>(&mut self, value: K::Value<'_>) -> Result<(), KeyProblem> {
        self.row_parts += 1;
        write_part::<K, N>(value, LAST, "RowKey", &mut self.row)
    }

    /// The two keys, if every part was written.
    pub(crate) fn finish(self, written: Result<(), KeyProblem>) -> Result<(String, String), Box<KeyError>> {
        match written {
            Ok(()) => Ok((self.partition.into_string(), self.row.into_string())),
            Err(problem) => {
                let part = match self.row_parts.checked_sub(1) {
                    Some(row) => self.layout.row.get(row),
                    None => self.layout.partition.get(self.partition_parts.saturating_sub(1)),
                };
                Err(self.layout.key_error(part.map_or("", |part| part.field), problem))
            }
        }
    }
}

/// Whether the service takes a key of this length.
#[inline]
pub(crate) fn check_length(name: &'static str, key: &KeyBuffer) -> Result<(), KeyProblem> {
    // A text has no more UTF-16 units than bytes.
    if key.len() > limits::KEY_UNITS { check_units(name, key.as_str()) } else { Ok(()) }
}

#[cold]
fn check_units(key: &'static str, text: &str) -> Result<(), KeyProblem> {
    let units = limits::units(text);
    if units > limits::KEY_UNITS { Err(KeyProblem::TooLong { key, units }) } else { Ok(()) }
}

impl LayoutInfo {
    #[cold]
    #[allow(clippy::unnecessary_box_returns, reason = "errors are boxed, so that results are small")]
    pub(crate) fn key_error(&self, field: &'static str, problem: KeyProblem) -> Box<KeyError> {
        Box::new(KeyError { table: self.table.to_owned(), layout: self.name, field, problem })
    }
}
