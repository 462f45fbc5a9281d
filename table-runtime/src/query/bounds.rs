//! Ranges that a query takes.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::client::sealed::Sealed;

/// A range of `T` in Rust's syntax, or a pair of [`Bound`]s.
#[diagnostic::on_unimplemented(
    message = "`range` takes a range of `{T}`, not `{Self}`",
    label = "not a range of `{T}`",
    note = "write `a..b`, `a..=b`, `a..`, `..b` or `..=b`; the bounds of text are `&str`, and those of a time or a date are values of its type, such as \
            `datetime!(2026-01-31 12:00 UTC)`",
    note = "`range` narrows the next part of the key, after the parts before it were narrowed by `eq`; to range over a later part \
            alone, declare an index whose `row(…)` begins with it",
    note = "of several values, run a query for each, and combine the `Vec`s",
    note = "a bound that may be missing: `.range((Bound::Included(from), Bound::Unbounded))`, or `from.unwrap_or(0)..`"
)]
pub trait Bounds<T>: Sealed<T> {
    /// Returns the lower and the upper bound.
    fn bounds(self) -> (Bound<T>, Bound<T>);
}

macro_rules! bounds {
    ($($range:ty, $self:ident => ($from:expr, $to:expr);)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T> Bounds<T> for $range {
            fn bounds($self) -> (Bound<T>, Bound<T>) {
                ($from, $to)
            }
        }
    )*};
}

bounds! {
    Range<T>, self => (Bound::Included(self.start), Bound::Excluded(self.end));
    RangeFrom<T>, self => (Bound::Included(self.start), Bound::Unbounded);
    RangeTo<T>, self => (Bound::Unbounded, Bound::Excluded(self.end));
    RangeToInclusive<T>, self => (Bound::Unbounded, Bound::Included(self.end));
    RangeFull, self => (Bound::Unbounded, Bound::Unbounded);
    (Bound<T>, Bound<T>), self => (self.0, self.1);
}

#[diagnostic::do_not_recommend]
impl<T> Bounds<T> for RangeInclusive<T> {
    fn bounds(self) -> (Bound<T>, Bound<T>) {
        let (from, to) = self.into_inner();
        (Bound::Included(from), Bound::Included(to))
    }
}
