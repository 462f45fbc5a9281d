//! The seal of the traits that only this crate implements. They can get functions without breaking a program.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{
    column::{Filter, Free, InKey, Indexed},
    cost,
    entity::{Stored, TableEntity},
    key::{First, Hash, KeyWriter, Lowercase, Pad, Plain, Raw, Reverse, ReverseTime, Separated, Time, Uppercase, kind},
    property::{Always, ByEquality, ByOrder, Defaulted, Json, Native, OptionText, Scaled, Text},
};

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
    [] Plain Lowercase Uppercase Raw Time ReverseTime;
    [const N: usize] Pad<N>;
    [Of] Reverse<Of>;
    [const N: usize, Of] First<N, Of> Hash<N, Of>;
    [Of, const SEPARATOR: char] Separated<Of, SEPARATOR>;
    [] kind::Text kind::Character kind::Name kind::Id kind::Instant kind::Date kind::Bool;
    [T] kind::Integer<T>;
    [] u8 u16 u32 u64 u128 i8 i16 i32 i64 i128;
    [] KeyWriter<'_>;
    [] Free Indexed InKey Always ByOrder ByEquality;
    [E] Stored<E>;
    [] cost::Point cost::Range cost::Lookups cost::PartitionScan cost::PartitionRange cost::TableScan;
    [const N: usize] cost::FanOut<N>;
    [] ();
    [T: Sealed] &mut T;
}

impl<P: ?Sized, T: Sealed<P>> Sealed<P> for &T {}
impl<P: ?Sized, T: Sealed<P>> Sealed<P> for Option<T> {}

impl<E> Sealed<E> for Filter<E> {}
impl<E: TableEntity> Sealed<E> for Stored<E> {}

impl<T> Sealed<T> for Range<T> {}
impl<T> Sealed<T> for RangeFrom<T> {}
impl<T> Sealed<T> for RangeTo<T> {}
impl<T> Sealed<T> for RangeInclusive<T> {}
impl<T> Sealed<T> for RangeToInclusive<T> {}
impl<T> Sealed<T> for RangeFull {}
impl<T> Sealed<T> for (Bound<T>, Bound<T>) {}

// Without the bounds of `Store`, which the compiler would then check, and report, once more.
impl<T> Sealed<T> for Native {}
impl<T> Sealed<T> for Text {}
impl<T> Sealed<T> for OptionText {}
impl<T> Sealed<T> for Json {}
impl<T, S> Sealed<T> for Defaulted<S> {}
impl<T, const PLACES: u32> Sealed<T> for Scaled<PLACES> {}
