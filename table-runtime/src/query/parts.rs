//! Key parts that a query can still narrow, as a list of types that ends in [`Primary`], [`Unique`] or [`Done`].

use std::marker::PhantomData;

use table_model::key::{KeyPart, Ordered, Ranged};

use super::{Complete, Rows};
use crate::{client::sealed::Sealed, read::Plan};

/// Part of a key: a field's type and its encoding.
pub struct Part<T, N>(PhantomData<(T, N)>);
/// End of the primary key. With a value for every part, a query is a [`Point`](super::Point).
pub enum Primary {}
/// End of a unique index's key. With a value for every part, a query is a [`Point`](super::Point) through the index.
pub enum Unique {}
/// End of a key of which no further part can be narrowed.
pub enum Done {}

impl Sealed for Primary {}
impl Sealed for Unique {}
impl Sealed for Done {}
impl<T, N, R> Sealed for (Part<T, N>, R) {}

/// Parts that come after a key part.
pub trait Rest: Sealed {
    /// True if there is no further part.
    const LAST: bool;
    /// Query after the part before has its value.
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

/// Parts of which the next one has a `range`.
#[diagnostic::on_unimplemented(
    message = "this key part has no `range`",
    label = "the order of its keys is not the order of its values",
    note = "narrow it with `eq`"
)]
pub trait Sorted: Sealed {
    /// Encoding of the next part.
    type Encoding;
}

// Each end has its own impl. With one impl for all ends, the compiler could not explain why a part that other parts
// follow is not sorted.
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

/// A query with an open key part. No type implements the trait: it exists for its message.
#[diagnostic::on_unimplemented(
    message = "no key part is left to narrow",
    label = "every part of this key has its value, or a range or `starts_with` came before",
    note = "parts are narrowed in their order, and a range or `starts_with` comes last: call `eq` before it, for the parts before it",
    note = "for a part after a range, and for a property that is not in the key, use `filter`: a field of the key is a property too \
            with `#[property]`; or declare an index whose `row(…)` begins with that part",
    note = "the value of an index in other partitions is whole, as the argument of `by_NAME`, and has no `eq` after it: \
            `User::by_email(\"…\")`; for beginnings, the index has `partition(email(first = 1)), row(email)`"
)]
pub trait HasPart: Sized {
    #[doc(hidden)]
    fn narrowed<Q>(self) -> Q;
}
