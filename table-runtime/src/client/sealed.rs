//! The seal of the traits that only this crate implements. They can get functions without breaking a program.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Supertrait of sealed traits, which other crates cannot name. `T` is the parameter of the sealed trait if programs can
/// choose it: otherwise they could implement the trait for their own parameter.
pub trait Sealed<T: ?Sized = Own> {}

/// No parameter. It is a type of this crate, so the compiler knows that it does not implement `TableEntity`.
pub enum Own {}

impl Sealed for () {}

impl<P: ?Sized, T: Sealed<P>> Sealed<P> for &T {}
impl<T: Sealed> Sealed for &mut T {}

impl<T> Sealed<T> for Range<T> {}
impl<T> Sealed<T> for RangeFrom<T> {}
impl<T> Sealed<T> for RangeTo<T> {}
impl<T> Sealed<T> for RangeInclusive<T> {}
impl<T> Sealed<T> for RangeToInclusive<T> {}
impl<T> Sealed<T> for RangeFull {}
impl<T> Sealed<T> for (Bound<T>, Bound<T>) {}
