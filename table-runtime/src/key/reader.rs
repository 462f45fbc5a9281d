//! Reading the parts of a stored key.

use super::{Decode, Encode, Escape, KeyProblem, Kind};
use crate::{LayoutInfo, PartInfo, Result, RowRef, entity};

/// A stored key, of which one part after the other is read.
pub struct KeyReader<'a> {
    layout: &'static LayoutInfo,
    parts: std::slice::Iter<'static, PartInfo>,
    /// The field of the part that was read last.
    field: &'static str,
    rest: &'a str,
    place: Place<'a>,
}

/// The row whose key is read, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) table: &'a str,
    pub(crate) row: RowRef<'a>,
}

impl<'a> KeyReader<'a> {
    /// A reader of what follows the key's constant beginning.
    #[inline]
    pub(crate) fn new(
        layout: &'static LayoutInfo,
        prefix: &'static str,
        parts: &'static [PartInfo],
        key: &'a str,
        place: Place<'a>,
    ) -> Result<Self> {
        // Comparing with no text at all takes far longer than seeing that it is none.
        let rest = if prefix.is_empty() { Some(key) } else { key.strip_prefix(prefix) };
        let reader = Self { layout, parts: parts.iter(), field: "", rest: key, place };
        match rest {
            Some(rest) if !parts.is_empty() || rest.is_empty() => Ok(Self { rest, ..reader }),
            _ => Err(reader.not_begun(prefix)),
        }
    }

    /// The key does not have its constant beginning, or something after it where there is no part.
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
        error.row = Some(entity::id(self.place.table, self.place.row));
        error.into()
    }

    /// The text of the next part.
    fn next<K: Kind, N: Encode<K>, const LAST: bool>(&mut self) -> Result<&'a str> {
        self.field = self.parts.next().map_or("", |part| part.field);
        if LAST {
            return Ok(std::mem::take(&mut self.rest));
        }
        let joint = char::from(N::JOINT);
        match self.rest.split_once(joint) {
            Some((part, rest)) => {
                self.rest = rest;
                Ok(part)
            }
            None => {
                Self::value(Err(KeyProblem::malformed(format!("a part that ends with {joint:?}"), self.rest)), self)
            }
        }
    }

    /// Reads the next part.
    pub fn part<K: Kind, N: Decode<K>, const LAST: bool>(&mut self) -> Result<K::Owned<'a>> {
        let text = self.next::<K, N, LAST>()?;
        Self::value(N::read(text, Escape::part(LAST)), self)
    }

    /// Passes over so many parts.
    pub(crate) fn skip_to(&mut self, count: usize, separator: Option<char>) -> Result<()> {
        for part in self.parts.by_ref().take(count) {
            let joint = part.joint(separator);
            let Some((_, rest)) = self.rest.split_once(joint) else {
                let problem = KeyProblem::malformed(format!("a part that ends with {joint:?}"), self.rest);
                return Err(self.error(part.field, problem));
            };
            self.rest = rest;
        }
        Ok(())
    }

    /// What was made of the part that was read last.
    #[inline]
    pub fn value<T>(value: Result<T, KeyProblem>, key: &Self) -> Result<T> {
        value.map_err(|problem| key.error(key.field, problem))
    }

    /// The next part loses something.
    #[cold]
    pub(super) fn unreadable<T>(&self) -> Result<T> {
        Self::value(Err(KeyProblem::malformed("a part that can be read back", self.rest)), self)
    }

    /// Passes over the next part, which cannot be read back.
    pub fn skip<K: Kind, N: Encode<K>, const LAST: bool>(&mut self) -> Result<()> {
        self.next::<K, N, LAST>().map(drop)
    }
}
