//! The key parts that a query can still narrow, as a list of types that ends in [`Primary`] or [`Done`].

use std::marker::PhantomData;

use super::{Complete, Rows};
use crate::{
    key::{KeyPart, Ordered, Ranged},
    read::Plan,
};

/// One part of a key: a field's type and its encoding.
pub struct Part<T, N>(PhantomData<(T, N)>);
/// The end of the primary key: with every part given, a query is a [`Point`](super::Point).
pub enum Primary {}
/// The end of a unique index's key: with every part given, a query is a [`Point`](super::Point) through it.
pub enum Unique {}
/// No part can be narrowed any more.
pub enum Done {}

/// What follows a key part.
pub trait Rest {
    /// Whether no part follows.
    const LAST: bool;
    /// The query, once the part before is given.
    type Query<E, A: Complete>;

    #[doc(hidden)]
    fn next<E, A: Complete>(plan: Plan) -> Self::Query<E, A>;
}

impl Rest for Primary {
    const LAST: bool = true;
    type Query<E, A: Complete> = A::Point<E>;

    fn next<E, A: Complete>(plan: Plan) -> A::Point<E> {
        A::complete(plan)
    }
}

impl Rest for Unique {
    const LAST: bool = true;
    type Query<E, A: Complete> = A::Unique<E>;

    fn next<E, A: Complete>(plan: Plan) -> A::Unique<E> {
        A::complete_unique(plan)
    }
}

impl Rest for Done {
    const LAST: bool = true;
    type Query<E, A: Complete> = Rows<E, Self, A>;

    fn next<E, A: Complete>(plan: Plan) -> Rows<E, Self, A> {
        Rows::new(plan)
    }
}

impl<T, N, R> Rest for (Part<T, N>, R) {
    const LAST: bool = false;
    type Query<E, A: Complete> = Rows<E, Self, A>;

    fn next<E, A: Complete>(plan: Plan) -> Rows<E, Self, A> {
        Rows::new(plan)
    }
}

/// A next part that has a `range`.
#[diagnostic::on_unimplemented(
    message = "this key part has no `range`",
    label = "the order of its keys is not the order of its values",
    note = "narrow it with `eq`"
)]
pub trait Sorted {
    /// Its encoding.
    type Encoding;
}

// One for each end: of one for all of them, the compiler could not tell why a part before others is not sorted.
impl<T: KeyPart, N: Ordered<T::Kind>> Sorted for (Part<T, N>, Primary) {
    type Encoding = N;
}

impl<T: KeyPart, N: Ordered<T::Kind>> Sorted for (Part<T, N>, Unique) {
    type Encoding = N;
}

impl<T: KeyPart, N: Ordered<T::Kind>> Sorted for (Part<T, N>, Done) {
    type Encoding = N;
}

impl<T: KeyPart, N: Ranged<T::Kind>, T2, N2, R> Sorted for (Part<T, N>, (Part<T2, N2>, R)) {
    type Encoding = N;
}

/// Never true: the place where a query with no open part says so.
#[diagnostic::on_unimplemented(
    message = "no key part is left to narrow",
    label = "every part of this key has its value or its range",
    note = "for a property that is not in the key, use `filter`"
)]
pub trait HasPart: Sized {
    #[doc(hidden)]
    fn narrowed<Q>(self) -> Q;
}

/// Never true: the place where a query of many rows says that it is no point.
#[diagnostic::on_unimplemented(
    message = "this query names many rows, `get` reads one",
    label = "key parts are still open",
    note = "narrow the next key part with `eq`, or use `first` or `all`"
)]
pub trait OnePoint {}
