//! Properties: the fields that are stored in a row in addition to its keys.

mod args;
#[cfg(feature = "decimal")]
mod decimal;
mod json;
pub mod large;
pub mod nested;
pub(crate) mod problem;
pub mod shape;
mod store;
pub(crate) mod texts;

use std::{borrow::Cow, time::Duration};

use table_store::{Guid, PropertyType, Ticks, Value, ValueRef};

use crate::{
    codec::{EntityReader, PropertyWriter},
    key::KeyReader,
    layout::{Parts, PropertyInfo},
    sealed::{Sealed, sealed},
};
pub use args::{ByRef, ByValue, IntoArg, Passed, Passing};
#[cfg(feature = "decimal")]
pub use decimal::AsDecimal;
pub use large::Large;
pub use nested::NoValue;
use nested::name_of;
use problem::{found, misfit};
pub use shape::{Fields, OneProperty, Partial, Shape, Single};
pub use store::{AsJson, AsText, Defaulted, DisplayText, Json, Native, OptionText, Scaled, Store};
#[doc(inline)]
pub use table_store::error::PropertyProblem;

/// A type that can be stored as a property of one of the service's types.
///
/// Derive it on a newtype of such a type, on an enum of unit variants, which is stored as the name of its variant, and on a
/// struct or an enum with data, each field of which is then a property of its own.
///
/// | field | property |
/// |---|---|
/// | `bool` | `Edm.Boolean` |
/// | `i8`, `i16`, `i32`, `u8`, `u16` | `Edm.Int32` |
/// | `u32`, `i64` | `Edm.Int64` |
/// | `u64`, `u128`, `i128` | `Edm.String`, as in a key: padded with zeros, so that filters compare numbers |
/// | `f32`, `f64` | `Edm.Double`, NaN and infinities included |
/// | `String`, `Box<str>`, `Arc<str>`, `Cow<'static, str>` | `Edm.String` |
/// | `Vec<u8>` | `Edm.Binary` |
/// | [`Guid`], `uuid::Uuid` | `Edm.Guid` |
/// | `SystemTime`, `time::OffsetDateTime`, `chrono::DateTime<Utc>`, `jiff::Timestamp` | `Edm.DateTime`, to the tick; a leap second of `chrono` is the last tick before it |
/// | `time::Date`, `chrono::NaiveDate`, `jiff::civil::Date` | `Edm.String`, such as `2026-12-24`, of the years 0001 to 9999 |
/// | `rust_decimal::Decimal` | `Edm.String`, with all of its places: filters find `1.5` and `1.50` apart. With `#[property(scale = 2)]` `Edm.Int64` of hundredths, which filters compare in order |
/// | `std::time::Duration` | `Edm.Int64` of ticks of 100 ns, rounded down to the tick |
/// | `IpAddr`, `Ipv4Addr`, `Ipv6Addr` | `Edm.String`, such as `192.0.2.1`; filters compare it by equality |
/// | `Option` of these, not of an `Option` | the same, or no property |
///
/// A number is also read from a property of another numeric type if that property holds it exactly, because other
/// programs may choose another type. A `u64`, `u128` or `i128` is also read from a text without padding. A date is also read
/// from its JSON, such as `"2026-12-24"` or `[2026,358]`, as `#[property(json)]` stored it. Filters compare texts as they are
/// stored: they do not find an older form until the row is written again.
///
/// A text has at most 32,768 UTF-16 units, and a `Vec<u8>` 65,536 bytes. With `#[property(large)]` it has up to 480,000
/// units, or 960,000 bytes. A value that fits into a property is then stored as without the attribute, and a longer one in
/// parts: `Body`, `Body_2`, `Body_3`, and so on, with their number in `Body_Parts`, an `Edm.Int32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a property",
    label = "needs a derive, a feature of `table-runtime`, or another attribute",
    note = "a struct that is no entity, an enum or a newtype: `#[derive(Property)]` on it; a collection, or a type of \
            another crate: `#[property(json)]` on the field, which stores it through serde; a type with `Display` and \
            `FromStr`: `#[property(text)]` on the field",
    note = "times are `SystemTime`, `time::OffsetDateTime`, `chrono::DateTime<Utc>` and `jiff::Timestamp`, dates are \
            `time::Date`, `chrono::NaiveDate` and `jiff::civil::Date`, ids are `uuid::Uuid`: each of these crates needs the \
            feature of `table-runtime` with its name, such as `features = [\"chrono\"]`; `rust_decimal::Decimal` needs the \
            feature `decimal`; a time without a zone, such as `PrimitiveDateTime`, is none of them: write `OffsetDateTime`",
    note = "another entity has a row of its own: store its key in its place, such as `author: u32`, and read it with \
            `Author::key(…)`",
    note = "write `u64` for `usize`, `std::time::Duration` for a duration of another crate, and an integer of minutes or \
            seconds for a time of day; the ETag and the time of the last write are no fields: the `Stored` that a query \
            returns has them"
)]
pub trait Property: Sized {
    /// How filters and patches take a value: text and bytes [by reference](ByRef), all others [by value](ByValue).
    type Arg: Passing;
    /// Presence of the property in rows: [`Always`] or, for an `Option`, [`Maybe`].
    type Presence;
    /// Comparisons that a filter may make: [`ByOrder`], [`ByEquality`] or [`Opaque`].
    type Order;
    /// Columns of the type's own properties: [`Single`], or those of a struct or an enum with data.
    type Shape: Shape;

    /// Type of the property, which layouts record. An `Option` has the type of its value.
    const TYPE: PropertyType;

    /// Properties of a type that is stored as several; empty for a single one.
    #[doc(hidden)]
    const PARTS: Parts = &[];
    /// Fields of a struct or of an enum with data; empty for any other type.
    #[doc(hidden)]
    const INNER: &'static [PropertyInfo] = &[];
    /// The most properties that one row has for the type.
    #[doc(hidden)]
    const MOST: usize = 1;
    /// `true` if a row may be without all of them.
    #[doc(hidden)]
    const IS_OPTIONAL: bool = false;

    /// Returns the property's type, and its range if it has one, for error messages.
    fn expected() -> Cow<'static, str> {
        Self::TYPE.to_string().into()
    }

    /// Returns the property's value, or `None` if no property is stored. A type that is stored as a text, and does not hold
    /// it, writes the text to `scratch`, which is empty.
    ///
    /// # Errors
    /// Returns an error if the service cannot store the value.
    fn to_value<'a>(&'a self, scratch: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem>;

    /// Converts a property to the field's value. `value` is `None` if the row has no such property.
    ///
    /// # Errors
    /// Returns an error if the property is missing, has another type or is out of range.
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem>;

    /// Returns the value of an argument of a filter or a patch.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`to_value`](Self::to_value).
    fn arg_value(arg: Passed<'_, Self::Arg>) -> Result<Option<Value>, PropertyProblem>;

    /// Does the same as [`from_value`](Self::from_value). Types that own text or bytes do it without a copy.
    #[doc(hidden)]
    fn from_owned(value: Value) -> Result<Self, PropertyProblem> {
        Self::from_value(Some(value.as_ref()))
    }

    // A name is in two pieces: that of the entity's field, and the relative one of the part.

    #[doc(hidden)]
    #[inline]
    fn store_in(
        &self,
        name: &'static str,
        parts: Parts,
        properties: &mut PropertyWriter<'_>,
    ) -> table_store::Result<()> {
        let name = name_of(name, parts);
        properties.write(name, |properties| {
            // Most values need no memory, and an empty text has none.
            if let Some(value) = self.to_value(&mut String::new())? {
                properties.push_named(name, value);
            }
            Ok(())
        })
    }

    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the name and the type are constants: see `EntityReader::property`")]
    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> table_store::Result<Self> {
        row.property(name_of(name, parts), Self::TYPE, |value| Self::from_value(value))
    }
}

/// Marker: every row has the property.
pub enum Always {}
/// Marker: a row may have no such property.
pub enum Maybe {}
/// Marker: filters compare the property by order and by equality.
pub enum ByOrder {}
/// Marker: filters compare the property by equality.
pub enum ByEquality {}
/// Marker: filters cannot compare the property.
pub enum Opaque {}

sealed!([] Always ByOrder ByEquality;);

/// Function that reads a column from a row.
pub enum ColumnLoad<T> {
    /// The function that reads the properties of a field, with the field's name, and the parts of its type.
    Property(fn(&'static str, Parts, &mut EntityReader<'_>) -> table_store::Result<T>, Parts),
    /// The part of the primary key, counted over both keys, and the function that reads it.
    Key(usize, PartReader<T>),
}

impl<T> Clone for ColumnLoad<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnLoad<T> {}

/// Function that reads a field from the next part of a key, which may be the last one.
pub type PartReader<T> = fn(&mut KeyReader<'_>, bool) -> table_store::Result<T>;

/// A field with `#[property(skip)]`.
#[diagnostic::on_unimplemented(
    message = "a field with `#[property(skip)]` is read as its `Default`, which `{Self}` does not have",
    label = "no `Default`",
    note = "implement or derive `Default` for `{Self}`, or write `Option<{Self}>`"
)]
pub trait SkippedField: Sized {
    #[doc(hidden)]
    fn skipped() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> SkippedField for T {
    #[inline]
    fn skipped() -> Self {
        Self::default()
    }
}

/// Returns the value of a field that is not stored.
#[doc(hidden)]
#[inline]
pub fn skipped<T: SkippedField>() -> T {
    T::skipped()
}

/// The presence of a property that an `Option` may be made of: [`Always`].
#[diagnostic::on_unimplemented(
    message = "an `Option` of a type that may be without a value cannot be a property",
    label = "`Some(None)` and `None` would both be stored as no property",
    note = "write one `Option`: `Option<T>` in place of `Option<Option<T>>`, and a newtype of an `Option` without another \
            `Option` around it",
    note = "an `Option` of a struct needs a field that is always stored, because no property at all is `None`: make one of \
            them required, or remove the `Option` around the struct"
)]
pub trait Present: Sealed {}

#[diagnostic::do_not_recommend]
impl Present for Always {}

impl<T: Property<Presence: Present>> Property for Option<T> {
    // An argument is never `None`: a merge cannot remove a property, and no comparison finds a missing one.
    type Arg = T::Arg;
    type Presence = Maybe;
    type Order = T::Order;
    type Shape = <T::Shape as Shape>::Optional;

    const TYPE: PropertyType = T::TYPE;
    const PARTS: Parts = T::PARTS;
    const INNER: &'static [PropertyInfo] = T::INNER;
    const MOST: usize = T::MOST;
    const IS_OPTIONAL: bool = true;

    fn expected() -> Cow<'static, str> {
        format!("{} or nothing", T::expected()).into()
    }

    #[inline]
    fn to_value<'a>(&'a self, scratch: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem> {
        self.as_ref().map_or(Ok(None), |value| value.to_value(scratch))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the type of the value is a constant: see `EntityReader::property`")]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
        value.map(|value| T::from_value(Some(value))).transpose()
    }

    fn arg_value(arg: Passed<'_, T::Arg>) -> Result<Option<Value>, PropertyProblem> {
        T::arg_value(arg)
    }

    fn from_owned(value: Value) -> Result<Self, PropertyProblem> {
        T::from_owned(value).map(Some)
    }

    #[inline]
    fn store_in(
        &self,
        name: &'static str,
        parts: Parts,
        properties: &mut PropertyWriter<'_>,
    ) -> table_store::Result<()> {
        self.as_ref().map_or(Ok(()), |value| value.store_in(name, parts, properties))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the name and the type are constants: see `EntityReader::property`")]
    fn load_in(name: &'static str, parts: Parts, row: &mut EntityReader<'_>) -> table_store::Result<Self> {
        if T::PARTS.is_empty() {
            row.property(name_of(name, parts), Self::TYPE, Self::from_value)
        } else {
            nested::load_option::<T>(name, parts, row)
        }
    }
}

/// Returns the integer that a numeric property holds.
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

/// 2^53, up to which a double holds every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the number of a numeric property if a double holds it exactly.
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

/// Returns the nearest `f32`, or `None` if the number is out of its range.
#[inline]
fn single(value: ValueRef<'_>) -> Option<f32> {
    let value = double(value)?;
    #[allow(clippy::cast_possible_truncation, reason = "checked")]
    let single = value as f32;
    (single.is_finite() == value.is_finite()).then_some(single)
}

/// Implements [`Property`] for types that are passed by value, from their comparisons, the type of the property, the
/// range of their values if it is not that of the property, and the closures that write and read them. For a type that is no
/// property, the compiler lists the types that are: `do_not_recommend` leaves the usual ones in its list.
macro_rules! by_value {
    ($($(#[$hidden:meta])? $type:ty: $order:ty, $property:expr $(, in $range:expr)?, $write:expr, $read:expr;)*) => {$(
        $(#[$hidden])?
        impl Property for $type {
            type Arg = $crate::property::ByValue<$type>;
            type Presence = Always;
            type Order = $order;
            type Shape = $crate::property::Single;

            const TYPE: table_store::PropertyType = $property;

            $(fn expected() -> std::borrow::Cow<'static, str> {
                format!("{} in {}", Self::TYPE, $range).into()
            })?

            #[inline]
            fn to_value<'a>(&'a self, _: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem> {
                let write: fn($type) -> Result<ValueRef<'static>, PropertyProblem> = $write;
                write(*self).map(Some)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            #[allow(clippy::inline_always, reason = "then the type of the value is a constant: see `EntityReader::property`")]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
                let read: fn(ValueRef<'_>) -> Option<Self> = $read;
                value.and_then(read).ok_or_else(|| misfit::<Self>(value))
            }

            fn arg_value(arg: $type) -> Result<Option<table_store::Value>, PropertyProblem> {
                Ok(Property::to_value(&arg, &mut String::new())?.map(ValueRef::to_value))
            }
        }
    )*};
}

pub(crate) use by_value;

by_value! {
    bool: ByEquality, PropertyType::Boolean, |value| Ok(ValueRef::Boolean(value)), |value| match value {
        ValueRef::Boolean(value) => Some(value),
        _ => None,
    };
    #[diagnostic::do_not_recommend]
    f32: ByOrder, PropertyType::Single, |value| Ok(ValueRef::Double(value.into())), single;
    f64: ByOrder, PropertyType::Double, |value| Ok(ValueRef::Double(value)), double;
    #[diagnostic::do_not_recommend]
    Guid: ByOrder, PropertyType::Guid, |value| Ok(ValueRef::Guid(value)), |value| match value {
        ValueRef::Guid(value) => Some(value),
        _ => None,
    };
    #[diagnostic::do_not_recommend]
    Ticks: ByOrder, PropertyType::DateTime, |value| Ok(ValueRef::DateTime(value)), |value| match value {
        ValueRef::DateTime(value) => Some(value),
        _ => None,
    };
}

/// Ticks of a second.
const SECOND: u64 = 10_000_000;

by_value! {
    #[diagnostic::do_not_recommend]
    Duration: ByOrder, PropertyType::Ticks, in "0..=9223372036854775807",
        |value| match i64::try_from(value.as_nanos() / 100) {
            Ok(ticks) => Ok(ValueRef::Int64(ticks)),
            Err(_) => Err(PropertyProblem { expected: Self::expected(), found: format!("{value:?}") }),
        },
        |value| {
            let ticks = u64::try_from(integer(value)?).ok()?;
            // Less than a second in nanoseconds.
            Some(Duration::new(ticks / SECOND, (ticks % SECOND * 100).try_into().ok()?))
        };
}

macro_rules! integers {
    ($($(#[$hidden:meta])? $type:ident: $variant:ident;)*) => {
        by_value! {$(
            $(#[$hidden])?
            $type: ByOrder, PropertyType::$variant { min: $type::MIN as _, max: $type::MAX as _ },
                |value| Ok(ValueRef::$variant(value.into())), |value| integer(value)?.try_into().ok();
        )*}
    };
}

integers! {
    #[diagnostic::do_not_recommend]
    i8: Int32;
    #[diagnostic::do_not_recommend]
    i16: Int32;
    i32: Int32;
    #[diagnostic::do_not_recommend]
    u8: Int32;
    #[diagnostic::do_not_recommend]
    u16: Int32;
    u32: Int64;
    i64: Int64;
}

macro_rules! borrowed {
    ($($(#[$hidden:meta])? $type:ty: $as:ty, $variant:ident, $order:ty;)*) => {$(
        $(#[$hidden])?
        impl Property for $type {
            type Arg = ByRef<$as>;
            type Presence = Always;
            type Order = $order;
            type Shape = $crate::property::Single;

            const TYPE: PropertyType = PropertyType::$variant;

            #[inline]
            fn to_value<'a>(&'a self, _: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem> {
                Ok(Some(ValueRef::$variant(self)))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            #[allow(clippy::inline_always, reason = "then the type of the value is a constant: see `EntityReader::property`")]
            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
                match value {
                    Some(ValueRef::$variant(value)) => Ok(value.to_owned().into()),
                    other => Err(misfit::<Self>(other)),
                }
            }

            fn arg_value(arg: &$as) -> Result<Option<Value>, PropertyProblem> {
                Ok(Some(ValueRef::$variant(arg).to_value()))
            }

            fn from_owned(value: Value) -> Result<Self, PropertyProblem> {
                match value {
                    Value::$variant(value) => Ok(value.into()),
                    other => Self::from_value(Some(other.as_ref())),
                }
            }
        }
    )*};
}

borrowed! {
    String: str, String, ByOrder;
    #[diagnostic::do_not_recommend]
    Box<str>: str, String, ByOrder;
    #[diagnostic::do_not_recommend]
    std::sync::Arc<str>: str, String, ByOrder;
    #[diagnostic::do_not_recommend]
    Cow<'static, str>: str, String, ByOrder;
}

/// A `Vec` that is a property: one of bytes.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a property holds one value, and `{Self}` may hold many",
    label = "put `#[property(json)]` on this field",
    note = "it is stored as JSON text through serde, which filters cannot compare",
    note = "elements that queries look for are entities of their own, or have rows in an index: `#[index(tag, each)]` beside \
            `#[property(json)]`"
)]
pub trait Bytes: Sized {
    fn as_bytes(&self) -> &[u8];
    fn of_bytes(bytes: Vec<u8>) -> Self;
}

#[diagnostic::do_not_recommend]
impl Bytes for Vec<u8> {
    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self
    }

    #[inline]
    fn of_bytes(bytes: Vec<u8>) -> Self {
        bytes
    }
}

impl<T> Property for Vec<T>
where
    Self: Bytes,
{
    type Arg = ByRef<[u8]>;
    type Presence = Always;
    type Order = ByEquality;
    type Shape = Single;

    const TYPE: PropertyType = PropertyType::Binary;

    #[inline]
    fn to_value<'a>(&'a self, _: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem> {
        Ok(Some(ValueRef::Binary(self.as_bytes())))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "then the type of the value is a constant: see `EntityReader::property`")]
    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
        match value {
            Some(ValueRef::Binary(value)) => Ok(Self::of_bytes(value.to_owned())),
            other => Err(misfit::<Self>(other)),
        }
    }

    fn arg_value(arg: &[u8]) -> Result<Option<Value>, PropertyProblem> {
        Ok(Some(ValueRef::Binary(arg).to_value()))
    }

    fn from_owned(value: Value) -> Result<Self, PropertyProblem> {
        match value {
            Value::Binary(value) => Ok(Self::of_bytes(value)),
            other => Self::from_value(Some(other.as_ref())),
        }
    }
}
