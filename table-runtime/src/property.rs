//! Properties: how fields are stored beside the keys.

mod json;

use std::{borrow::Cow, fmt::Display, marker::PhantomData, str::FromStr};

use serde::{Serialize, de::DeserializeOwned};

pub use crate::error::PropertyProblem;
use crate::{
    Guid, Properties, Ticks, Value, ValueRef,
    codec::{PropertyWriter, RowReader},
    error::{After, one_of},
};

/// A type that can be stored as a property of one of the service's types.
///
/// Derive it on a newtype of one, or on an enum of unit variants, which is stored by its variant's name.
///
/// | field | property |
/// |---|---|
/// | `bool` | `Edm.Boolean` |
/// | `i8`, `i16`, `i32`, `u8`, `u16` | `Edm.Int32` |
/// | `u32`, `i64` | `Edm.Int64` |
/// | `f32`, `f64` | `Edm.Double`, NaN and infinities included |
/// | `String` | `Edm.String` |
/// | `Vec<u8>` | `Edm.Binary` |
/// | [`Guid`], `uuid::Uuid` | `Edm.Guid` |
/// | `SystemTime`, `time::OffsetDateTime`, `chrono::DateTime<Utc>`, `jiff::Timestamp` | `Edm.DateTime`, to the tick |
/// | `Option` of these, not of an `Option` | the same, or no property |
///
/// A number is also read from a property of another numeric type that holds it exactly, since other writers choose
/// otherwise.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a property",
    label = "the service has no property type for this",
    note = "put `#[property(text)]` on the field to store it through `Display` and `FromStr`, or `#[property(json)]` to \
            store it through serde",
    note = "derive `Property` on a newtype or a unit enum of your own"
)]
pub trait Property: Sized {
    /// How filters and patches take a newtype `T` of it.
    type Pass<'a, T: 'a>;
    /// How filters and patches take it: text and bytes borrowed, the rest by value.
    type Arg<'a>;
    /// Whether every row has it: [`Always`] or, for an `Option`, [`Maybe`].
    type Presence;
    /// What comparisons a filter may make: [`ByOrder`] or [`ByEquality`].
    type Order;

    /// The property's type, and range where it has one, for errors.
    fn expected() -> Cow<'static, str>;

    /// The property's value; `None` for no property.
    ///
    /// # Errors
    /// The service has no such value.
    fn to_value(&self) -> Result<Option<ValueRef<'_>>, PropertyProblem>;

    /// The field's value; `None` where the row has no such property.
    ///
    /// # Errors
    /// The property is missing, of another type or out of range.
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem>;

    /// The value of a filter's or a patch's argument.
    ///
    /// # Errors
    /// As [`to_value`](Self::to_value).
    fn arg_value(arg: Self::Arg<'_>) -> Result<Option<Value>, PropertyProblem>;
}

/// Every row has the property.
pub enum Always {}
/// A row may be without the property.
pub enum Maybe {}
/// Filters compare it by order and by equality.
pub enum ByOrder {}
/// Filters compare it by equality.
pub enum ByEquality {}
/// Filters do not compare it.
pub enum Opaque {}

impl PropertyProblem {
    /// A property that does not fit a field of the type `T`.
    #[cold]
    pub(crate) fn of<T: Property>(value: Option<ValueRef<'_>>) -> Self {
        Self { expected: T::expected(), found: found(value) }
    }
}

/// What a row holds, for errors: a number or a time with its type, of the rest the type alone.
fn found(value: Option<ValueRef<'_>>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(ValueRef::Int32(value)) => format!("Edm.Int32 {value}"),
        Some(ValueRef::Int64(value)) => format!("Edm.Int64 {value}"),
        Some(ValueRef::Double(value)) => format!("Edm.Double {value}"),
        Some(ValueRef::DateTime(value)) => format!("Edm.DateTime {value}"),
        Some(ValueRef::Unreadable(found)) => found.to_owned(),
        Some(value) => value.edm_type().to_owned(),
    }
}

/// How a field of the type `T` is stored: as it is, as text, as JSON.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be stored this way",
    note = "`#[property(text)]` needs `Display` and `FromStr`, `#[property(json)]` serde's `Serialize` and \
            `DeserializeOwned`, `#[property(default)]` also `Default`"
)]
pub trait Store<T> {
    /// How filters and patches take it.
    type Arg<'a>;
    /// Whether every row has it: [`Always`] or [`Maybe`].
    type Presence;
    /// What comparisons a filter may make: [`ByOrder`], [`ByEquality`] or [`Opaque`].
    type Order;

    #[doc(hidden)]
    #[inline]
    fn store(value: &T, name: &'static str, properties: &mut PropertyWriter<'_>) -> crate::Result<()> {
        properties.write(name, |properties| Self::write(value, name, properties))
    }

    #[doc(hidden)]
    #[inline]
    fn load(name: &'static str, row: &mut RowReader<'_>) -> crate::Result<T> {
        row.property(name, Self::read)
    }

    /// Writes the field.
    ///
    /// # Errors
    /// It has no such form.
    fn write(value: &T, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem>;

    /// Reads the field.
    ///
    /// # Errors
    /// The property does not fit it.
    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem>;

    /// The value of an argument.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn arg_value(arg: Self::Arg<'_>) -> Result<Option<Value>, PropertyProblem>;
}

/// A field that is a [`Property`] itself.
pub struct Native;
/// A field stored as `Edm.String` through `Display` and `FromStr`.
pub struct Text;
/// An `Option` of what [`Text`] stores.
pub struct OptionText;
/// A field stored as `Edm.String` of JSON, through serde.
///
/// When a field is written, its JSON is parsed again and compared with the field. A value that does not read back as
/// the same is refused: one with NaN or an infinity in it, one nested more than 127 deep, `Some(None)` of an
/// `Option<Option<T>>`, for which JSON writes `null` as for `None`.
pub struct Json;
/// A field that is `Default` where the row has no such property.
pub struct Defaulted<S>(PhantomData<S>);

impl<T: Property> Store<T> for Native {
    type Arg<'a> = T::Arg<'a>;
    type Presence = T::Presence;
    type Order = T::Order;

    #[inline]
    fn write(value: &T, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
        if let Some(value) = value.to_value()? {
            properties.push(name, value);
        }
        Ok(())
    }

    #[inline]
    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        T::from_value(value)
    }

    fn arg_value(arg: T::Arg<'_>) -> Result<Option<Value>, PropertyProblem> {
        T::arg_value(arg)
    }
}

/// A field that [`Text`] stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as text",
    label = "needs `Display` and `FromStr`, for `{Self}`",
    note = "`#[property(text)]` writes a field through `Display` and reads it through `FromStr`, whose error has to be \
            `Display` too: implement them for `{Self}`, or put `#[property(json)]` on the field to store it through serde"
)]
pub trait AsText: Display + FromStr<Err: Display> {}

#[diagnostic::do_not_recommend]
impl<T: Display + FromStr<Err: Display>> AsText for T {}

/// A field that [`Json`] stores.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as JSON",
    label = "needs serde's `Serialize` and `Deserialize`, for `{Self}`",
    note = "write `#[derive(serde::Serialize, serde::Deserialize)]` on `{Self}`; for a type of another crate, see \
            whether that one has a feature `serde`"
)]
pub trait AsJson: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> AsJson for T {}

impl<T: AsText> Store<T> for Text {
    type Arg<'a> = T;
    type Presence = Always;
    type Order = ByEquality;

    fn write(value: &T, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
        properties.push(name, ValueRef::String(&value.to_string()));
        Ok(())
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        let expected = || format!("Edm.String of a `{}`", std::any::type_name::<T>()).into();
        match value {
            Some(ValueRef::String(text)) => text.parse().map_err(|error: T::Err| PropertyProblem {
                expected: expected(),
                found: format!("a text that is none{}", After(": ", &error.to_string())),
            }),
            other => Err(PropertyProblem { expected: expected(), found: found(other) }),
        }
    }

    fn arg_value(arg: T) -> Result<Option<Value>, PropertyProblem> {
        Ok(Some(Value::String(arg.to_string())))
    }
}

impl<T: AsText> Store<Option<T>> for OptionText {
    type Arg<'a> = T;
    type Presence = Maybe;
    type Order = ByEquality;

    fn write(value: &Option<T>, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
        value.as_ref().map_or(Ok(()), |value| Text::write(value, name, properties))
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<Option<T>, PropertyProblem> {
        value.map(|value| Text::read(Some(value))).transpose()
    }

    fn arg_value(arg: T) -> Result<Option<Value>, PropertyProblem> {
        <Text as Store<T>>::arg_value(arg)
    }
}

impl<T: Default, S: Store<T>> Store<T> for Defaulted<S> {
    type Arg<'a> = S::Arg<'a>;
    type Presence = Maybe;
    type Order = S::Order;

    fn write(value: &T, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
        S::write(value, name, properties)
    }

    fn read(value: Option<ValueRef<'_>>) -> Result<T, PropertyProblem> {
        if value.is_none() { Ok(T::default()) } else { S::read(value) }
    }

    fn arg_value(arg: S::Arg<'_>) -> Result<Option<Value>, PropertyProblem> {
        S::arg_value(arg)
    }
}

/// The presence of a property that an `Option` may be made of: [`Always`].
#[diagnostic::on_unimplemented(
    message = "an `Option` of a type that may be without a value cannot be a property",
    label = "`Some(None)` and `None` would both be stored as no property",
    note = "write one `Option`: `Option<T>` in place of `Option<Option<T>>`, and a newtype of an `Option` without another \
            `Option` around it"
)]
pub trait Present {}

#[diagnostic::do_not_recommend]
impl Present for Always {}

impl<T: Property<Presence: Present>> Property for Option<T> {
    type Pass<'a, P: 'a> = T::Pass<'a, P>;
    // A merge cannot remove a property, and no comparison finds a missing one: there is nothing to do with a `None`.
    type Arg<'a> = T::Arg<'a>;
    type Presence = Maybe;
    type Order = T::Order;

    fn expected() -> Cow<'static, str> {
        format!("{} or nothing", T::expected()).into()
    }

    #[inline]
    fn to_value(&self) -> Result<Option<ValueRef<'_>>, PropertyProblem> {
        self.as_ref().map_or(Ok(None), T::to_value)
    }

    #[inline]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
        value.map(|value| T::from_value(Some(value))).transpose()
    }

    fn arg_value(arg: T::Arg<'_>) -> Result<Option<Value>, PropertyProblem> {
        T::arg_value(arg)
    }
}

/// The name of a unit variant: its place among `names`.
pub(crate) fn name_from_value(value: Option<ValueRef<'_>>, names: &[&str]) -> Result<usize, PropertyProblem> {
    let place = match value {
        Some(ValueRef::String(text)) => names.iter().position(|name| *name == text),
        _ => None,
    };
    place.ok_or_else(|| PropertyProblem {
        expected: one_of(names).into(),
        found: match value {
            Some(ValueRef::String(text)) => format!("`{text}`"),
            other => found(other),
        },
    })
}

/// The integer that a numeric property holds.
#[inline]
fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Int32(value) => Some(value.into()),
        ValueRef::Int64(value) => Some(value),
        #[allow(clippy::cast_possible_truncation, reason = "checked")]
        ValueRef::Double(value) if value.fract() == 0.0 && value.abs() <= EXACT => Some(value as i64),
        _ => None,
    }
}

/// 2^53: up to here a double holds every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The number of a numeric property, if a double holds it exactly.
#[inline]
fn double(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Double(value) => Some(value),
        ValueRef::Int32(value) => Some(value.into()),
        #[allow(clippy::cast_precision_loss, reason = "checked")]
        ValueRef::Int64(value) if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => Some(value as f64),
        _ => None,
    }
}

/// The nearest `f32`; `None` if it is out of range.
#[inline]
fn single(value: ValueRef<'_>) -> Option<f32> {
    let value = double(value)?;
    #[allow(clippy::cast_possible_truncation, reason = "checked")]
    let single = value as f32;
    (single.is_finite() == value.is_finite()).then_some(single)
}

/// Properties that are passed by value: what comparisons they take, what they hold, how they are written and read.
macro_rules! by_value {
    ($($type:ty: $order:ty, $expected:expr, $write:expr, $read:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Property for $type {
            type Pass<'a, T: 'a> = T;
            type Arg<'a> = $type;
            type Presence = $crate::property::Always;
            type Order = $order;

            fn expected() -> std::borrow::Cow<'static, str> {
                $expected.into()
            }

            #[inline]
            fn to_value(&self) -> Result<Option<ValueRef<'_>>, PropertyProblem> {
                let write: fn($type) -> Result<ValueRef<'static>, PropertyProblem> = $write;
                write(*self).map(Some)
            }

            #[inline]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
                let read: fn(ValueRef<'_>) -> Option<Self> = $read;
                value.and_then(read).ok_or_else(|| PropertyProblem::of::<Self>(value))
            }

            fn arg_value(arg: $type) -> Result<Option<$crate::Value>, PropertyProblem> {
                Ok($crate::Property::to_value(&arg)?.map(ValueRef::to_value))
            }
        }
    )*};
}

pub(crate) use by_value;

by_value! {
    bool: ByEquality, "Edm.Boolean", |value| Ok(ValueRef::Boolean(value)), |value| match value {
        ValueRef::Boolean(value) => Some(value),
        _ => None,
    };
    f32: ByOrder, "Edm.Double in the range of `f32`", |value| Ok(ValueRef::Double(value.into())), single;
    f64: ByOrder, "Edm.Double", |value| Ok(ValueRef::Double(value)), double;
    Guid: ByOrder, "Edm.Guid", |value| Ok(ValueRef::Guid(value)), |value| match value {
        ValueRef::Guid(value) => Some(value),
        _ => None,
    };
    Ticks: ByOrder, "Edm.DateTime", |value| Ok(ValueRef::DateTime(value)), |value| match value {
        ValueRef::DateTime(value) => Some(value),
        _ => None,
    };
}

macro_rules! integers {
    ($($type:ident: $variant:ident;)*) => {
        by_value! {$(
            $type: ByOrder, format!("Edm.{} in {}..={}", stringify!($variant), $type::MIN, $type::MAX),
                |value| Ok(ValueRef::$variant(value.into())), |value| integer(value)?.try_into().ok();
        )*}
    };
}

integers! {
    i8: Int32;
    i16: Int32;
    i32: Int32;
    u8: Int32;
    u16: Int32;
    u32: Int64;
    i64: Int64;
}

macro_rules! borrowed {
    ($($type:ty: $as:ty, $variant:ident, $order:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Property for $type {
            type Pass<'a, T: 'a> = &'a T;
            type Arg<'a> = &'a $as;
            type Presence = Always;
            type Order = $order;

            fn expected() -> Cow<'static, str> {
                concat!("Edm.", stringify!($variant)).into()
            }

            #[inline]
            fn to_value(&self) -> Result<Option<ValueRef<'_>>, PropertyProblem> {
                Ok(Some(ValueRef::$variant(self)))
            }

            #[inline]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
                match value {
                    Some(ValueRef::$variant(value)) => Ok(value.into()),
                    other => Err(PropertyProblem::of::<Self>(other)),
                }
            }

            fn arg_value(arg: &$as) -> Result<Option<Value>, PropertyProblem> {
                Ok(Some(ValueRef::$variant(arg).to_value()))
            }
        }
    )*};
}

borrowed! {
    String: str, String, ByOrder;
    Box<str>: str, String, ByOrder;
    std::sync::Arc<str>: str, String, ByOrder;
    Vec<u8>: [u8], Binary, ByEquality;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_that_cannot_be_given_back_is_not_written() {
        let write = |value: f64| Json::write(&value, "Rank", &mut Properties::default());
        assert_eq!(write(1.5), Ok(()));
        assert!(write(f64::NAN).is_err());
        let mut properties = Properties::default();
        assert_eq!(Json::write(&None::<f64>, "Rank", &mut properties), Ok(()));
        assert!(properties.is_empty());
        assert_eq!(<Json as Store<Option<f64>>>::read(None), Ok(None));
    }
}
