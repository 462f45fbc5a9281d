//! The seal of the traits that only this crate implements. They can get functions without breaking a program.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Supertrait of sealed traits, which other crates cannot name. `T` is the parameter of the sealed trait if programs can
/// choose it: otherwise they could implement the trait for their own parameter.
pub trait Sealed<T: ?Sized = ()> {}

/// Implements the seal for types, each after its parameters.
macro_rules! sealed {
    (@ [$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> $crate::model::sealed::Sealed for $type {}
    };
    ($($parameters:tt $($type:ty)*;)*) => {
        $($($crate::model::sealed::sealed!(@ $parameters $type);)*)*
    };
}

pub(crate) use sealed;

sealed! {
    [] u8 u16 u32 u64 u128 i8 i16 i32 i64 i128;
    [] ();
    [T: Sealed] &mut T;
}

impl<P: ?Sized, T: Sealed<P>> Sealed<P> for &T {}
impl<P: ?Sized, T: Sealed<P>> Sealed<P> for Option<T> {}

impl<T> Sealed<T> for Range<T> {}
impl<T> Sealed<T> for RangeFrom<T> {}
impl<T> Sealed<T> for RangeTo<T> {}
impl<T> Sealed<T> for RangeInclusive<T> {}
impl<T> Sealed<T> for RangeToInclusive<T> {}
impl<T> Sealed<T> for RangeFull {}
impl<T> Sealed<T> for (Bound<T>, Bound<T>) {}
