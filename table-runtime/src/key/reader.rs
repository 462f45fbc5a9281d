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
    pub(crate) fn new(
        layout: &'static LayoutInfo,
        prefix: &'static str,
        parts: &'static [PartInfo],
        key: &'a str,
    ) -> Result<Self> {
        let reader = Self { layout, parts: parts.iter(), rest: "" };
        match key.strip_prefix(prefix) {
            Some(rest) if !parts.is_empty() || rest.is_empty() => Ok(Self { rest, ..reader }),
            Some(_) => Err(reader.error("", KeyProblem::malformed(format!("the key `{prefix}`"), key))),
            None => Err(reader.error("", KeyProblem::malformed(format!("a key that begins with `{prefix}`"), key))),
        }
    }

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
