//! Writing the keys of a layout, into buffers.

use std::cell::RefCell;

use table_store::{
    error::{KeyError, KeyProblem},
    unstable::{RowKeys, limits, text},
};

use super::{Decode, Encode, Escape, Kind, PartSink, Plain, Raw, encoding::escape, kind};
use crate::{
    layout::{LayoutExt, LayoutInfo, PartInfo, segments},
    sealed::SealedSink,
};

thread_local! {
    /// Memory for texts that are only compared.
    static SCRATCH: RefCell<KeyBuffer> = const { RefCell::new(KeyBuffer(Vec::new())) };
}

/// A key that is being written.
///
/// The buffer holds bytes, so that digits are added without a UTF-8 check. Its contents are always text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyBuffer(Vec<u8>);

impl KeyBuffer {
    /// Creates an empty key with room for most keys.
    #[inline]
    pub fn new() -> Self {
        Self(Vec::with_capacity(64))
    }

    /// Calls `use_it` with an empty buffer, whose memory is used again. `use_it` must not call this function.
    pub(super) fn with_scratch<T>(use_it: impl FnOnce(&mut Self) -> T) -> T {
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut scratch) => {
                scratch.clear();
                use_it(&mut scratch)
            }
            Err(_) => use_it(&mut Self::new()),
        })
    }

    /// Empties the key and keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns true if nothing was written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds a character.
    #[inline]
    pub fn push(&mut self, character: char) {
        match u8::try_from(character) {
            Ok(ascii) if ascii.is_ascii() => self.0.push(ascii),
            _ => self.push_str(character.encode_utf8(&mut [0; 4])),
        }
    }

    /// Adds ASCII text.
    #[inline]
    pub(super) fn push_ascii(&mut self, ascii: &[u8]) {
        debug_assert!(ascii.is_ascii());
        self.0.extend_from_slice(ascii);
    }

    /// Adds ASCII text.
    #[inline]
    pub(super) fn extend_ascii(&mut self, ascii: impl Iterator<Item = u8>) {
        self.0.extend(ascii.inspect(|byte| debug_assert!(byte.is_ascii())));
    }

    /// Adds an ASCII character.
    #[inline]
    pub(super) fn push_byte(&mut self, ascii: u8) {
        debug_assert!(ascii.is_ascii());
        self.0.push(ascii);
    }

    /// Removes everything after the first `len` bytes, which must end at a character boundary.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the bytes after the first `len` bytes.
    #[inline]
    pub(super) fn after(&self, len: usize) -> &[u8] {
        &self.0[len..]
    }

    /// Returns the key so far.
    #[inline]
    pub fn as_str(&self) -> &str {
        text(&self.0).unwrap_or_else(|| unreachable!("only text is pushed"))
    }

    /// Returns the key.
    #[inline]
    pub fn into_string(self) -> String {
        String::from_utf8(self.0).unwrap_or_else(|_| unreachable!("only text is pushed"))
    }
}

/// A writer of an entity's two keys in one layout, or a comparer of them with stored keys.
#[derive(Clone, Debug)]
pub struct KeyWriter<'a> {
    layout: &'static LayoutInfo,
    /// The stored keys with which the parts are compared; `None` if the parts are written.
    stored: Option<StoredKeys<'a>>,
    /// The partition key so far.
    pub(crate) partition: KeyBuffer,
    /// The row key so far.
    pub(crate) row: KeyBuffer,
    /// Number of parts written so far, to name the part that fails.
    partition_parts: usize,
    row_parts: usize,
    /// Keys of the rows that are complete, if the entity has a row for each element of a field.
    pub(crate) ended: Vec<RowKeys>,
}

impl SealedSink for KeyWriter<'_> {}

/// The parts of two stored keys that were not compared yet.
#[derive(Clone, Debug)]
struct StoredKeys<'a> {
    partition: &'a str,
    row: &'a str,
    /// False if only lossy parts are compared, because the others were read from the keys.
    all: bool,
}

/// Takes the next part of a stored key, and checks that it is that of the value.
#[inline]
fn compare_part<K: Kind, N: Encode<K>>(
    value: K::Value<'_>,
    last: bool,
    all: bool,
    rest: &mut &str,
) -> Result<(), KeyProblem> {
    let text = if last {
        std::mem::take(rest)
    } else {
        let (part, tail) = segments::split(rest, char::from(N::DELIMITER));
        *rest = tail.unwrap_or_default();
        part
    };
    if (all || N::LOSSY) && !N::writes(value, Escape::part(last), text) {
        return Err(misplaced::<K, N>(value, last, text));
    }
    Ok(())
}

/// Returns the problem of a part that is not that of its field.
#[cold]
fn misplaced<K: Kind, N: Encode<K>>(value: K::Value<'_>, last: bool, text: &str) -> KeyProblem {
    let mut own = KeyBuffer::new();
    match N::write(value, Escape::part(last), &mut own) {
        Ok(()) => KeyProblem::malformed(format!("`{}`, the key of the field's value", own.as_str()), text),
        Err(problem) => problem,
    }
}

/// Writes a part of the key named `key`, and its delimiter unless the part is the last.
#[inline]
pub fn write_part<K: Kind, N: Encode<K>>(
    value: K::Value<'_>,
    last: bool,
    key: &'static str,
    out: &mut KeyBuffer,
) -> Result<(), KeyProblem> {
    N::write(value, Escape::part(last), out)?;
    // The length is checked after every part, so that the error can name the part that makes the key too long.
    check_length(key, out)?;
    if !last {
        out.push_byte(N::DELIMITER);
    }
    Ok(())
}

/// Writes a part whose text is taken from another key. The field and the encoding are the same, but the part may have
/// another position, where other delimiters are escaped.
pub fn copy_part(
    layout: &LayoutInfo,
    (text, was_last): (&str, bool),
    (part, last): (&PartInfo, bool),
    out: &mut KeyBuffer,
) -> Result<(), KeyProblem> {
    if part.self_delimiting {
        out.push_str(text);
    } else {
        let value = <Plain as Decode<kind::Text>>::read(text, escape(layout, was_last))?;
        let escape = escape(layout, last);
        if part.is_raw() {
            <Raw as Encode<kind::Text>>::write(&value, escape, out)?;
        } else {
            <Plain as Encode<kind::Text>>::write(&value, escape, out)?;
        }
    }
    if !last {
        out.push(segments::delimiter(layout, part));
    }
    Ok(())
}

impl PartSink for KeyWriter<'_> {
    type Output = Result<(), KeyProblem>;

    #[inline]
    fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.partition_parts += 1;
        if let Some(StoredKeys { partition, all, .. }) = &mut self.stored {
            return compare_part::<K, N>(value, last, *all, partition);
        }
        write_part::<K, N>(value, last, "PartitionKey", &mut self.partition)
    }

    #[inline]
    fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) -> Self::Output {
        self.row_parts += 1;
        if let Some(StoredKeys { row, all, .. }) = &mut self.stored {
            return compare_part::<K, N>(value, last, *all, row);
        }
        write_part::<K, N>(value, last, "RowKey", &mut self.row)
    }
}

impl<'a> KeyWriter<'a> {
    /// Creates a comparer with the keys of a stored row, which begin with the constant prefixes of the layout. If `all` is
    /// false, it compares only the parts that lose something of their fields.
    #[inline]
    pub(crate) fn comparing(layout: &'static LayoutInfo, (partition, row): (&'a str, &'a str), all: bool) -> Self {
        let after = |key: &'a str, prefix: &str| key.get(prefix.len()..).unwrap_or_default();
        let (partition, row) = (after(partition, &layout.partition_prefix), after(row, &layout.row_prefix));
        let stored = Some(StoredKeys { partition, row, all });
        let (partition, row) = (KeyBuffer::default(), KeyBuffer::default());
        Self { layout, stored, partition, row, partition_parts: 0, row_parts: 0, ended: Vec::new() }
    }

    /// Creates a writer whose keys hold the constant prefixes of the layout.
    #[inline]
    pub fn new(layout: &'static LayoutInfo) -> Self {
        let mut writer = Self {
            layout,
            stored: None,
            partition: KeyBuffer::new(),
            row: KeyBuffer::new(),
            partition_parts: 0,
            row_parts: 0,
            ended: Vec::new(),
        };
        writer.begin();
        writer
    }

    /// Starts both keys again and reuses their memory.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.partition.clear();
        self.partition.push_str(&self.layout.partition_prefix);
        self.row.clear();
        self.row.push_str(&self.layout.row_prefix);
        (self.partition_parts, self.row_parts) = (0, 0);
    }

    /// Completes the row of an element. The keys of the next one begin anew.
    pub fn end_row(&mut self) {
        let (partition_key, row_key) = (self.partition.as_str().to_owned(), self.row.as_str().to_owned());
        self.ended.push(RowKeys { partition_key, row_key });
        self.begin();
    }

    /// Replaces the partition key by a complete one.
    pub(crate) fn set_partition(&mut self, key: &str) {
        self.partition.clear();
        self.partition.push_str(key);
    }

    /// Returns the keys of the entity's rows in the layout, in order: of one row if every part was written, or of the rows of
    /// its elements, each once.
    pub fn finish(
        mut self,
        written: Result<bool, KeyProblem>,
    ) -> Result<impl Iterator<Item = RowKeys> + use<>, Box<KeyError>> {
        let is_written = written.map_err(|problem| self.error(problem))?;
        // Elements that fold to the same text have one row.
        self.ended.sort_unstable();
        self.ended.dedup();
        let row = is_written.then(|| {
            let (partition_key, row_key) = (self.partition.into_string(), self.row.into_string());
            RowKeys { partition_key, row_key }
        });
        Ok(self.ended.into_iter().chain(row))
    }

    /// Returns the error of the part that was written or compared last.
    #[cold]
    pub(crate) fn error(&self, problem: KeyProblem) -> Box<KeyError> {
        let part = match self.row_parts.checked_sub(1) {
            Some(row) => self.layout.row.get(row),
            None => self.layout.partition.get(self.partition_parts.saturating_sub(1)),
        };
        self.layout.key_error(part.map_or("", |part| &part.field), problem)
    }
}

/// Checks whether the service accepts a key of this length.
#[inline]
pub fn check_length(name: &'static str, key: &KeyBuffer) -> Result<(), KeyProblem> {
    // A text has no more UTF-16 units than bytes.
    if key.len() > limits::KEY_UNITS { check_units(name, key.as_str()) } else { Ok(()) }
}

#[cold]
fn check_units(key: &'static str, text: &str) -> Result<(), KeyProblem> {
    let units = limits::units(text);
    if units > limits::KEY_UNITS { Err(KeyProblem::TooLong { key, units }) } else { Ok(()) }
}
