//! The seal of the traits that only this crate implements. They can get functions without breaking a program.

/// Supertrait of sealed traits, which other crates cannot name. `T` is the parameter of the sealed trait if programs can
/// choose it: otherwise they could implement the trait for their own parameter.
pub trait Sealed<T: ?Sized = ()> {}

/// The seal of `PartSink`, which the crate above implements too. It is hidden in `unstable`.
pub trait SealedSink {}

/// Implements the seal for types, each after its parameters.
macro_rules! sealed {
    (@ [$($parameters:tt)*] $type:ty) => {
        impl<$($parameters)*> $crate::sealed::Sealed for $type {}
    };
    ($($parameters:tt $($type:ty)*;)*) => {
        $($($crate::sealed::sealed!(@ $parameters $type);)*)*
    };
}

pub(crate) use sealed;

sealed! {
    [] u8 u16 u32 u64 u128 i8 i16 i32 i64 i128;
}

impl<P: ?Sized, T: Sealed<P>> Sealed<P> for Option<T> {}
