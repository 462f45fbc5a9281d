//! Arguments: how filters and patches take the value of a property.

use std::marker::PhantomData;

use crate::sealed::{Sealed, sealed};

/// How filters and patches take a value: [`ByValue`] or [`ByRef`].
pub trait Passing: Sealed {
    /// The argument of a filter.
    type Passed<'a>;
    /// How the value of a newtype `T` is taken.
    type Newtype<T: 'static>: Passing;
}

/// The argument of a filter, for a property that is taken like this.
pub type Passed<'a, A> = <A as Passing>::Passed<'a>;

/// Takes values: those of numbers, times, ids and enums.
pub struct ByValue<T>(PhantomData<T>);
/// Takes references: those to text, to bytes and to newtypes of them.
pub struct ByRef<T: ?Sized>(PhantomData<T>);

sealed!([T] ByValue<T>; [T: ?Sized] ByRef<T>;);

impl<T> Passing for ByValue<T> {
    type Passed<'a> = T;
    type Newtype<N: 'static> = ByValue<N>;
}

impl<T: ?Sized + 'static> Passing for ByRef<T> {
    type Passed<'a> = &'a T;
    type Newtype<N: 'static> = ByRef<N>;
}

/// Argument of `set`, for a property that is taken as `A`: a number, a time or an enum as itself; text as `&str`, `String` or
/// whatever is `AsRef<str>`; bytes as `&[u8]`, `Vec<u8>` or an array; a newtype of text or bytes, or a reference to it.
#[diagnostic::on_unimplemented(
    message = "`set` cannot take `{Self}` as the value of this property",
    label = "another type than the property takes",
    note = "it takes `{A}`: of `ByValue<T>` a `T`; of `ByRef<T>` a `T` or a reference to one",
    note = "of an `Option`, `set` takes the value, and nothing removes it: call `tables.modify(T::key(…), |entity| …)`, or read \
            the entity and call `update(&mut stored)`",
    note = "sets that may be absent: `|post| [title.map(|title| post.title.set(title))]`"
)]
pub trait IntoArg<A: Passing> {
    #[doc(hidden)]
    fn pass<R>(self, to: impl FnOnce(Passed<'_, A>) -> R) -> R;
}

#[diagnostic::do_not_recommend]
impl<V> IntoArg<ByValue<V>> for V {
    fn pass<R>(self, to: impl FnOnce(V) -> R) -> R {
        to(self)
    }
}

#[diagnostic::do_not_recommend]
impl<V: AsRef<str>> IntoArg<ByRef<str>> for V {
    fn pass<R>(self, to: impl FnOnce(&str) -> R) -> R {
        to(self.as_ref())
    }
}

/// Implements the trait for forms of bytes. A text is none, although it can be borrowed as bytes.
macro_rules! bytes {
    ($($type:ty, [$($n:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($n)*> IntoArg<ByRef<[u8]>> for $type {
            fn pass<R>(self, to: impl FnOnce(&[u8]) -> R) -> R {
                to(self.as_ref())
            }
        }
    )*};
}

bytes! {
    &[u8], [];
    Vec<u8>, [];
    &Vec<u8>, [];
    [u8; N], [const N: usize];
    &[u8; N], [const N: usize];
}

#[diagnostic::do_not_recommend]
impl<N: 'static> IntoArg<ByRef<N>> for N {
    fn pass<R>(self, to: impl FnOnce(&N) -> R) -> R {
        to(&self)
    }
}

#[diagnostic::do_not_recommend]
impl<N: 'static> IntoArg<ByRef<N>> for &N {
    fn pass<R>(self, to: impl FnOnce(&N) -> R) -> R {
        to(self)
    }
}
