//! Types of the fields that an index can be over.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    sync::Arc,
};

use crate::key::KeyPart;

/// A type of a field that an index can be over: a key part, or an `Option` of one. An entity with `None` has no index
/// row.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be indexed",
    label = "no ordered key encoding for this type",
    note = "a newtype or a unit enum: `#[derive(KeyPart, Property)]` on it; of a struct, an index names a field on the entity: \
            `#[index(city, same_partition, row(address.city))]`",
    note = "an index holds what a key holds: text, integers, `bool`, `char`, ids, dates and times, and `Option`s of these; a \
            float as an integer, such as a number of cents",
    note = "for a row for each element of a collection, write `each`: `#[index(tag, each)]` on the field, or `row(each(tags))`"
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

/// A collection of which an index can have a row for each element: `#[index(tag, each)]`.
///
/// It is a `Vec`, a `VecDeque`, a `BTreeSet`, a `HashSet`, an array, a `Box<[T]>` or an `Arc<[T]>`, or an `Option` of one,
/// of elements that can be a key part. Elements with the same text in the key have one row.
#[diagnostic::on_unimplemented(
    message = "`each` needs a collection, and `{Self}` is none",
    label = "no elements",
    note = "an index with `each` has a row for each element of a `Vec`, a `VecDeque`, a `BTreeSet`, a `HashSet`, an array, a \
            `Box<[T]>` or an `Arc<[T]>`, or of an `Option` of one",
    note = "for one row for each entity, remove `each`"
)]
pub trait Each {
    /// The type of the elements.
    type Element;

    /// Returns the elements.
    fn elements(&self) -> impl Iterator<Item = &Self::Element>;
}

macro_rules! each {
    ($([$($generics:tt)*] $collection:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T, $($generics)*> Each for $collection {
            type Element = T;

            #[inline]
            fn elements(&self) -> impl Iterator<Item = &T> {
                self.iter()
            }
        }
    )*};
}

each! {
    [] Vec<T>;
    [] VecDeque<T>;
    [] BTreeSet<T>;
    [S] HashSet<T, S>;
    [const N: usize] [T; N];
    [] Box<[T]>;
    [] Arc<[T]>;
}

#[diagnostic::do_not_recommend]
impl<C: Each> Each for Option<C> {
    type Element = C::Element;

    #[inline]
    fn elements(&self) -> impl Iterator<Item = &C::Element> {
        self.iter().flat_map(C::elements)
    }
}
