//! The columns of a field's parts: `c.address.city`.

use std::marker::PhantomData;

use crate::{
    layout::{Parts, PropertyInfo, Spot, Within},
    sealed::{Sealed, sealed},
};

/// How a type is stored: as a [`Single`] property, or as several, and then which columns they have.
///
/// `#[derive(Property)]` implements it for a struct and for an enum with data.
pub trait Shape {
    /// The columns of the parts, in the entity `E`, with the mode `M`, of the field at the place `P`.
    type Columns<E: 'static, M: 'static, P: Place>: Fresh;
    /// The shape of an `Option` of the type.
    type Optional: Shape;
}

/// Columns of parts. They have no values but those of their types, so that there is one of them to refer to.
#[doc(hidden)]
pub trait Fresh: Copy + 'static {
    const NEW: &'static Self;
}

/// Marker: a single property.
pub enum Single {}

/// Marker: an `Option` of a struct or an enum.
pub struct OptionOf<S>(PhantomData<S>);

/// The columns of a single property: none.
#[derive(Clone, Copy, Debug)]
pub struct NoParts;

impl Fresh for NoParts {
    const NEW: &'static Self = &Self;
}

impl Shape for Single {
    type Columns<E: 'static, M: 'static, P: Place> = NoParts;
    type Optional = Self;
}

impl<S: Shape> Shape for OptionOf<S> {
    // A patch of one part of a value that may be missing would leave a row that cannot be read.
    type Columns<E: 'static, M: 'static, P: Place> = S::Columns<E, Partial, P>;
    type Optional = Self;
}

/// A column of a part of an `Option` or of an enum, of which a row may be without.
pub enum Partial {}

/// The type of a field that a patch can set as a whole: a single property.
#[diagnostic::on_unimplemented(
    message = "a struct or an enum with data is not set as a whole",
    label = "stored as several properties",
    note = "set the fields of a struct: `[c.address.city.set(\"x\"), c.address.street.set(\"y\")]`; to change an enum or an \
            `Option` of a struct, call `tables.modify(T::key(…), …)` or `update(&mut stored)`, because a patch removes no property"
)]
pub trait OneProperty: Sealed {}

sealed!([] Single Partial;);

#[diagnostic::do_not_recommend]
impl OneProperty for Single {}

/// Place of a field in an entity, or of a part of one: its name in rows.
#[doc(hidden)]
pub trait Place: 'static {
    const NAME: &'static str;
    const PARTS: Parts;
    /// The field.
    const SPOT: Spot;
    /// What is around the field.
    const WITHIN: Option<&'static Within>;
}

/// A struct, an enum or a variant, with the positions of its fields' parts among its own.
#[doc(hidden)]
pub trait Fields {
    const INNER: &'static [PropertyInfo];
    const STARTS: &'static [usize];
}

/// Field number `I` of the entity `E`, if `P` is [`Root`], or of the struct `T`, if `P` is [`In<Q, T>`](In).
#[doc(hidden)]
pub struct At<E, P, const I: usize>(PhantomData<fn() -> (E, P)>);

/// The entity itself.
pub enum Root {}

/// Inside of the place `Q`, which holds a `T`.
pub struct In<Q, T>(PhantomData<fn() -> (Q, T)>);

impl<E: 'static, Q: Place, T: Fields + 'static, const I: usize> Place for At<E, In<Q, T>, I> {
    const NAME: &'static str = Q::NAME;
    const PARTS: Parts = super::nested::sub(Q::PARTS, T::STARTS[I], T::STARTS[I + 1]);
    const SPOT: Spot = match Self::FIELD.only_value() {
        Some(value) => value,
        None => Self::FIELD,
    };
    const WITHIN: Option<&'static Within> = match Self::FIELD.only_value() {
        // The column of a variant with one value is that of the value.
        Some(_) => Some(&Within { outer: Some(Self::AROUND), spot: Self::FIELD }),
        None => Some(Self::AROUND),
    };
}

impl<E: 'static, Q: Place, T: Fields + 'static, const I: usize> At<E, In<Q, T>, I> {
    const FIELD: Spot = Q::SPOT.inner(&T::INNER[I], T::STARTS[I], T::STARTS[I + 1]);
    const AROUND: &'static Within = &Within { outer: Q::WITHIN, spot: Q::SPOT };
}

/// Presence of a struct in rows: a row always has it if one of its parts is always there.
pub struct IsAlways<const YES: bool>;

/// A type that has a presence.
pub trait HasPresence {
    /// [`Always`](super::Always) or [`Maybe`](super::Maybe).
    type Presence;
}

impl HasPresence for IsAlways<true> {
    type Presence = super::Always;
}

impl HasPresence for IsAlways<false> {
    type Presence = super::Maybe;
}

/// A step of a path in an index, such as `address.city`: to the field, or the variant, whose name has the hash `H`.
#[diagnostic::on_unimplemented(
    message = "no such part of `{Self}`",
    label = "the path of an index goes through fields of structs and variants of enums with `#[derive(Property)]`",
    note = "a newtype has no parts: a path goes through structs with named fields",
    note = "a private field of a `pub` struct has no path if its type may be private: make the field `pub` or `pub(crate)`"
)]
pub trait Step<const H: u64> {
    /// The value in which the step is taken: the type itself, or the enum of a variant.
    type From;
    /// Where the path continues: the type of the field, or the columns of the variant.
    type To;
    /// The value there: the type of the field, or the enum of a variant.
    type Value;
    /// The column of the part, with the mode `M`, in the field at the place `P` of the entity `E`.
    type Column<E: 'static, M: 'static, P: Place>: Fresh;
    /// The mode of the columns inside of the part, if that of the part is `M`.
    type Inner<M: 'static>: 'static;
    /// The place of the part.
    type Place<E: 'static, P: Place>: Place;
    /// Returns the value; `None` if there is another variant, or the `Option` is `None`.
    fn get(from: &Self::From) -> Option<&Self::Value>;
}

#[diagnostic::do_not_recommend]
impl<const H: u64, T: Step<H, From = T>> Step<H> for Option<T> {
    type From = Self;
    type To = T::To;
    type Value = T::Value;
    type Column<E: 'static, M: 'static, P: Place> = T::Column<E, Partial, P>;
    type Inner<M: 'static> = T::Inner<Partial>;
    type Place<E: 'static, P: Place> = T::Place<E, P>;

    #[inline]
    fn get(from: &Self) -> Option<&T::Value> {
        from.as_ref().and_then(T::get)
    }
}

/// An argument of a predicate in `when(path, …)`: a reference to the field at the path, whose type is `T`, or an `Option` of
/// it.
#[diagnostic::on_unimplemented(
    message = "a predicate of `when` takes the field at the path as `&{T}`, or as `Option<&{T}>`",
    label = "the predicate takes `{Self}`"
)]
pub trait Reached<'a, T: 'a>: Sized {
    /// Returns the argument; `None` if the entity has no row in the index, because the predicate needs a value.
    fn reached(value: Option<&'a T>) -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<'a, T> Reached<'a, T> for &'a T {
    fn reached(value: Option<&'a T>) -> Option<Self> {
        value
    }
}

/// Implements [`Reached`] for predicates that take what a field derefs to.
macro_rules! derefs {
    ($($type:ty: $target:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a> Reached<'a, $type> for &'a $target {
            fn reached(value: Option<&'a $type>) -> Option<Self> {
                value.map(|value| &**value)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'a> Reached<'a, $type> for Option<&'a $target> {
            fn reached(value: Option<&'a $type>) -> Option<Self> {
                Some(value.map(|value| &**value))
            }
        }
    )*};
}

derefs! {
    String: str;
    Box<str>: str;
    std::sync::Arc<str>: str;
    Vec<u8>: [u8];
}

#[diagnostic::do_not_recommend]
impl<'a, T> Reached<'a, T> for Option<&'a T> {
    fn reached(value: Self) -> Option<Self> {
        Some(value)
    }
}

/// Returns the argument of a predicate; `None` if the entity has no row in the index.
pub fn reached<'a, T, A: Reached<'a, T>>(value: Option<&'a T>) -> Option<A> {
    A::reached(value)
}
