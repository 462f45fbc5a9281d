//! Names of properties in two pieces.

use std::fmt;

/// Name of a property: `outer`, `inner`, or both with a `_` between them, such as `Address_City`. An entity's field has the
/// outer piece, and a field of its struct the inner one. Rows are read and written by the pieces, so that nobody joins them
/// for each row.
#[derive(Clone, Copy, Debug)]
pub struct PropertyName<'a> {
    /// May be empty.
    pub outer: &'a str,
    /// May be empty.
    pub inner: &'a str,
}

impl PropertyName<'_> {
    /// Returns the number of bytes of the whole name.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the length of a constant name is a constant")]
    pub const fn length(self) -> usize {
        let between = !self.outer.is_empty() && !self.inner.is_empty();
        self.outer.len() + self.inner.len() + between as usize
    }

    /// Checks whether these are the bytes of the name. Names are short: calling the function that compares memory takes
    /// longer than comparing them here.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `length`")]
    pub(super) fn is(self, name: &[u8]) -> bool {
        let same = |left: &[u8], right: &str| {
            left.len() == right.len() && left.iter().zip(right.as_bytes()).all(|(left, right)| left == right)
        };
        if self.inner.is_empty() {
            return same(name, self.outer);
        }
        if self.outer.is_empty() {
            return same(name, self.inner);
        }
        match name.split_at_checked(self.outer.len()) {
            Some((outer, [b'_', inner @ ..])) => same(outer, self.outer) && same(inner, self.inner),
            _ => false,
        }
    }
}

impl<'a> From<&'a str> for PropertyName<'a> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `length`")]
    fn from(name: &'a str) -> Self {
        Self { outer: name, inner: "" }
    }
}

/// Writes the whole name.
impl fmt::Display for PropertyName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.outer)?;
        f.write_str(if self.outer.is_empty() || self.inner.is_empty() { "" } else { "_" })?;
        f.write_str(self.inner)
    }
}
