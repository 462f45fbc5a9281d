//! Reading the parts of a stored key.

use std::borrow::Cow;

use table_store::{Result, RowRef, error::KeyProblem};

use super::{Decode, Encode, Escape, KeyPart, Kind, Plain, encoding::escape, kind};
use crate::layout::{LayoutExt, LayoutInfo, PartInfo, of_row, segments};

/// A reader of a stored key, part by part. It is small and passed by value, so that it stays in registers.
#[derive(Clone, Copy)]
pub struct KeyReader<'a> {
    layout: &'static LayoutInfo,
    /// All parts of the key.
    parts: &'static [PartInfo],
    /// Number of parts that were read.
    read: usize,
    rest: &'a str,
    context: RowContext<'a>,
}

/// The row whose key is read, for error messages.
#[derive(Clone, Copy)]
pub struct RowContext<'a> {
    /// The table of the row.
    pub table: &'a str,
    /// The row.
    pub row: &'a RowRef<'a>,
}

impl<'a> KeyReader<'a> {
    /// Creates a reader of the parts that follow the key's constant prefix.
    #[inline]
    pub fn new(
        layout: &'static LayoutInfo,
        prefix: &'static str,
        parts: &'static [PartInfo],
        key: &'a str,
        context: RowContext<'a>,
    ) -> Result<Self> {
        // A check for an empty prefix is far faster than `strip_prefix` with one.
        let rest = if prefix.is_empty() { Some(key) } else { key.strip_prefix(prefix) };
        match rest {
            Some(rest) if !parts.is_empty() || rest.is_empty() => Ok(Self { layout, parts, read: 0, rest, context }),
            _ => Err(not_begun(layout, prefix, key, context)),
        }
    }

    /// Returns the error of the part that was read last.
    #[cold]
    fn error(self, problem: KeyProblem) -> table_store::Error {
        let last = self.read.checked_sub(1).and_then(|last| self.parts.get(last));
        error(self.layout, last.map_or("", |part| &part.field), problem, self.context)
    }

    /// Returns the error of a part without its delimiter.
    #[cold]
    fn unended(self, delimiter: char) -> table_store::Error {
        self.error(KeyProblem::malformed(format!("a part that ends with {delimiter:?}"), self.rest))
    }

    /// Returns the text of the next part.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then `last` is a constant, as it is in generated code")]
    fn next<K: Kind, N: Encode<K>>(&mut self, last: bool) -> Result<&'a str> {
        self.read += 1;
        if last {
            return Ok(std::mem::take(&mut self.rest));
        }
        let delimiter = char::from(N::DELIMITER);
        match segments::split(self.rest, delimiter) {
            (part, Some(rest)) => {
                self.rest = rest;
                Ok(part)
            }
            (_, None) => Err(self.unended(delimiter)),
        }
    }

    /// Reads a field from the next part.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then `last` is a constant, as it is in generated code")]
    pub(super) fn field<T: KeyPart, N: Decode<T::Kind>>(&mut self, last: bool) -> Result<T> {
        let text = self.next::<T::Kind, N>(last)?;
        let part = Self::value(N::read(text, Escape::part(last)), *self)?;
        Self::value(T::from_key(part), *self)
    }

    /// Reads the next part, a text that its encoding holds whole.
    pub(crate) fn text(&mut self) -> Result<Cow<'a, str>> {
        let Some(part) = self.parts.get(self.read) else { return self.unreadable() };
        self.read += 1;
        let last = self.read == self.parts.len();
        let delimiter = segments::delimiter(self.layout, part);
        let text = match segments::split(self.rest, delimiter) {
            _ if last => self.rest,
            (text, Some(_)) => text,
            (_, None) => return Err(self.unended(delimiter)),
        };
        if part.is_raw() {
            return Ok(Cow::Borrowed(text));
        }
        Self::value(<Plain as Decode<kind::Text>>::read(text, escape(self.layout, last)), *self)
    }

    /// Skips `count` parts.
    pub fn skip_to(&mut self, count: usize) -> Result<()> {
        self.rest = segments::skip(self.layout, self.rest, &self.parts[..count]).map_err(|(part, rest)| {
            let expected = format!("a part that ends with {:?}", segments::delimiter(self.layout, part));
            error(self.layout, &part.field, KeyProblem::malformed(expected, rest), self.context)
        })?;
        self.read = count;
        Ok(())
    }

    /// Returns the value that was made of the part read last. If there is a problem instead, returns an error that
    /// names the field and the row.
    #[inline]
    fn value<T>(value: Result<T, KeyProblem>, key: Self) -> Result<T> {
        match value {
            Ok(value) => Ok(value),
            Err(problem) => Err(key.error(problem)),
        }
    }

    /// Returns the error of a part whose encoding is lossy.
    #[cold]
    pub(super) fn unreadable<T>(self) -> Result<T> {
        Err(self.error(KeyProblem::malformed("a part that can be read back", self.rest)))
    }

    /// Skips the next part, which cannot be read back.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then `last` is a constant, as it is in generated code")]
    pub(super) fn skip<K: Kind, N: Encode<K>>(&mut self, last: bool) -> Result<()> {
        self.next::<K, N>(last).map(drop)
    }
}

/// Returns the error of a key that does not begin with its constant prefix, or of a key without parts that has more
/// text after the prefix.
#[cold]
fn not_begun(layout: &'static LayoutInfo, prefix: &str, key: &str, context: RowContext<'_>) -> table_store::Error {
    let expected = match key.strip_prefix(prefix) {
        Some(_) => format!("the key `{prefix}`"),
        None => format!("a key that begins with `{prefix}`"),
    };
    error(layout, "", KeyProblem::malformed(expected, key), context)
}

#[cold]
fn error(
    layout: &'static LayoutInfo,
    field: &'static str,
    problem: KeyProblem,
    RowContext { table, row }: RowContext<'_>,
) -> table_store::Error {
    of_row(layout.key_error(field, problem), table, row)
}
