//! Reading the parts of a stored key.

use super::{Decode, Encode, Escape, KeyProblem, Kind};
use crate::{LayoutInfo, PartInfo, Result, RowRef, layout::segments};

/// A reader of a stored key, part by part.
pub struct KeyReader<'a> {
    layout: &'static LayoutInfo,
    parts: std::slice::Iter<'static, PartInfo>,
    /// Field of the part that was read last.
    field: &'static str,
    rest: &'a str,
    context: RowContext<'a>,
}

/// The row whose key is read, for error messages.
#[derive(Clone, Copy)]
pub(crate) struct RowContext<'a> {
    pub(crate) table: &'a str,
    pub(crate) row: RowRef<'a>,
}

impl<'a> KeyReader<'a> {
    /// Creates a reader of the parts that follow the key's constant prefix.
    #[inline]
    pub(crate) fn new(
        layout: &'static LayoutInfo,
        prefix: &'static str,
        parts: &'static [PartInfo],
        key: &'a str,
        context: RowContext<'a>,
    ) -> Result<Self> {
        // A check for an empty prefix is far faster than `strip_prefix` with one.
        let rest = if prefix.is_empty() { Some(key) } else { key.strip_prefix(prefix) };
        let reader = Self { layout, parts: parts.iter(), field: "", rest: key, context };
        match rest {
            Some(rest) if !parts.is_empty() || rest.is_empty() => Ok(Self { rest, ..reader }),
            _ => Err(reader.not_begun(prefix)),
        }
    }

    /// Returns the error of a key that does not begin with its constant prefix, or of a key without parts that has more
    /// text after the prefix.
    #[cold]
    fn not_begun(&self, prefix: &'static str) -> crate::Error {
        let expected = match self.rest.strip_prefix(prefix) {
            Some(_) => format!("the key `{prefix}`"),
            None => format!("a key that begins with `{prefix}`"),
        };
        self.error("", KeyProblem::malformed(expected, self.rest))
    }

    #[cold]
    fn error(&self, field: &'static str, problem: KeyProblem) -> crate::Error {
        let mut error = self.layout.key_error(field, problem);
        error.row = Some(self.context.row.id(self.context.table));
        error.into()
    }

    /// Returns the text of the next part.
    fn next<K: Kind, N: Encode<K>, const LAST: bool>(&mut self) -> Result<&'a str> {
        self.field = self.parts.next().map_or("", |part| part.field);
        if LAST {
            return Ok(std::mem::take(&mut self.rest));
        }
        let delimiter = char::from(N::DELIMITER);
        match segments::split(self.rest, delimiter) {
            (part, Some(rest)) => {
                self.rest = rest;
                Ok(part)
            }
            (_, None) => {
                Self::value(Err(KeyProblem::malformed(format!("a part that ends with {delimiter:?}"), self.rest)), self)
            }
        }
    }

    /// Reads the next part.
    pub fn part<K: Kind, N: Decode<K>, const LAST: bool>(&mut self) -> Result<K::Owned<'a>> {
        let text = self.next::<K, N, LAST>()?;
        Self::value(N::read(text, Escape::part(LAST)), self)
    }

    /// Skips `count` parts.
    pub(crate) fn skip_to(&mut self, count: usize, separator: Option<char>) -> Result<()> {
        let (skipped, parts) = self.parts.as_slice().split_at(count);
        self.rest = segments::skip(self.rest, skipped, separator).map_err(|(part, rest)| {
            let expected = format!("a part that ends with {:?}", part.delimiter(separator));
            self.error(part.field, KeyProblem::malformed(expected, rest))
        })?;
        self.parts = parts.iter();
        Ok(())
    }

    /// Returns the value that was made of the part read last. If there is a problem instead, returns an error that
    /// names the field and the row.
    #[inline]
    pub fn value<T>(value: Result<T, KeyProblem>, key: &Self) -> Result<T> {
        value.map_err(|problem| key.error(key.field, problem))
    }

    /// Returns the error of a part whose encoding is lossy.
    #[cold]
    pub(super) fn unreadable<T>(&self) -> Result<T> {
        Self::value(Err(KeyProblem::malformed("a part that can be read back", self.rest)), self)
    }

    /// Skips the next part, which cannot be read back.
    pub fn skip<K: Kind, N: Encode<K>, const LAST: bool>(&mut self) -> Result<()> {
        self.next::<K, N, LAST>().map(drop)
    }
}
