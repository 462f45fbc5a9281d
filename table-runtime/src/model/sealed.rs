//! The seal of the traits that only this crate implements. They can get functions without breaking a program.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{
    column::{Filter, Free, InKey, Indexed},
    cost,
    entity::Stored,
    key::{First, Hash, KeyWriter, Lowercase, Pad, Plain, Raw, Reverse, ReverseTime, Separated, Time, Uppercase, kind},
    property::{Always, ByEquality, ByOrder, Defaulted, Json, Native, OptionText, Text},
};

/// Supertrait of sealed traits, which other crates cannot name.
pub trait Sealed {}

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
    [] Native Text OptionText Json;
    [S] Defaulted<S>;
    [E] Filter<E> Stored<E>;
    [] cost::Point cost::Range cost::Lookups cost::PartitionScan cost::PartitionRange cost::TableScan;
    [const N: usize] cost::FanOut<N>;
    [T] Range<T> RangeFrom<T> RangeInclusive<T> RangeTo<T> RangeToInclusive<T>;
    [] RangeFull;
    [] ();
    [A, B] (A, B);
    [T: Sealed] &T &mut T Option<T>;
}
