//! Reading the parts of a stored key.

use super::{Decode, Encode, Escape, KeyPart, KeyProblem};
use crate::{LayoutInfo, PartInfo, Result};

/// A stored key, of which one part after the other is read.
pub struct KeyReader<'a> {
    layout: &'static LayoutInfo,
    parts: std::slice::Iter<'static, PartInfo>,
    rest: &'a str,
}

impl<'a> KeyReader<'a> {
    /// A reader of what follows the key's constant beginning.
    #[inline]
    pub(crate) fn new(
        layout: &'static LayoutInfo,
        prefix: &'static str,
        parts: &'static [PartInfo],
        key: &'a str,
    ) -> Result<Self> {
        // Comparing with no text at all takes far longer than seeing that it is none.
        let rest = if prefix.is_empty() { Some(key) } else { key.strip_prefix(prefix) };
        match rest {
            Some(rest) if !parts.is_empty() || rest.is_empty() => Ok(Self { layout, parts: parts.iter(), rest }),
            _ => Err(Self { layout, parts: parts.iter(), rest: key }.not_begun(prefix)),
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
        self.layout.key_error(field, problem).into()
    }

    /// The text of the next part.
    fn next<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(
        &mut self,
    ) -> Result<(&'static str, &'a str), (&'static str, KeyProblem)> {
        let field = self.parts.next().map_or("", |part| part.field);
        if LAST {
            return Ok((field, std::mem::take(&mut self.rest)));
        }
        let joint = char::from(N::JOINT);
        match self.rest.split_once(joint) {
            Some((part, rest)) => {
                self.rest = rest;
                Ok((field, part))
            }
            None => Err((field, KeyProblem::malformed(format!("a part that ends with {joint:?}"), self.rest))),
        }
    }

    /// Reads the next part.
    pub fn part<T: KeyPart, N: Decode<T::Kind>, const LAST: bool>(&mut self) -> Result<T> {
        let read = self.next::<T, N, LAST>().and_then(|(field, text)| {
            let value = N::read(text, Escape::part(LAST)).and_then(T::from_key);
            value.map_err(|problem| (field, problem))
        });
        read.map_err(|(field, problem)| self.error(field, problem))
    }

    /// Passes over the next part, which cannot be read back.
    pub fn skip<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(&mut self) -> Result<()> {
        let next = self.next::<T, N, LAST>().map(drop);
        next.map_err(|(field, problem)| self.error(field, problem))
    }
}
