//! Types of the fields that an index can be over.

use crate::model::key::KeyPart;

/// A type of a field that an index can be over: a key part, or an `Option` of one. An entity with `None` has no index
/// row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be indexed",
    label = "no ordered key encoding for this type",
    note = "an index holds what a key holds: text, integers, `bool`, `char`, ids, dates and times, and `Option`s of these; a \
            float as an integer, such as a number of cents",
    note = "the elements of a collection are entities of their own, with a key each",
    note = "a newtype or a unit enum: `#[derive(KeyPart)]` on it"
)]
pub trait Indexable {
    /// The type of the value in the key.
    type Part: KeyPart;

    /// Returns the value in the key; `None` if the entity has no index row.
    fn part(&self) -> Option<&Self::Part>;

    /// Returns the field that has this value in the key.
    fn whole(part: Self::Part) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> Indexable for T {
    type Part = T;

    #[inline]
    fn part(&self) -> Option<&T> {
        Some(self)
    }

    #[inline]
    fn whole(part: T) -> T {
        part
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> Indexable for Option<T> {
    type Part = T;

    #[inline]
    fn part(&self) -> Option<&T> {
        self.as_ref()
    }

    #[inline]
    fn whole(part: T) -> Self {
        Some(part)
    }
}
