//! Types that are stored as a text that they do not hold: integers that no type of the service holds, and addresses.

use std::{
    fmt::{Display, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use table_store::{PropertyType, ValueRef, error::PropertyProblem};

use super::{Always, ByEquality, ByOrder, Property, found, integer};
use crate::key::{Encode, Escape, IntegerType, KeyBuffer, Kind, Plain, kind};

/// Implements [`Property`] for types that are stored as a text, from their comparisons, the type of the property, what the
/// text is, and the functions that write it and that read a value.
macro_rules! texts {
    ($($(#[$hidden:meta])? $type:ty: $order:ty, $property:expr, $what:literal, $write:expr, $read:expr;)*) => {$(
        $(#[$hidden])?
        impl Property for $type {
            type Arg = $crate::property::ByValue<$type>;
            type Presence = Always;
            type Order = $order;
            type Shape = $crate::property::Single;

            const TYPE: PropertyType = $property;

            fn expected() -> std::borrow::Cow<'static, str> {
                concat!("Edm.String of ", $what).into()
            }

            fn to_value<'a>(&'a self, scratch: &'a mut String) -> Result<Option<ValueRef<'a>>, PropertyProblem> {
                let write: fn($type, &mut String) -> Result<(), PropertyProblem> = $write;
                write(*self, scratch)?;
                Ok(Some(ValueRef::String(scratch)))
            }

            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, PropertyProblem> {
                let read: fn(ValueRef<'_>) -> Option<Self> = $read;
                value.and_then(read).ok_or_else(|| unread::<Self>(value))
            }

            fn arg_value(arg: $type) -> Result<Option<table_store::Value>, PropertyProblem> {
                Ok(Property::to_value(&arg, &mut String::new())?.map(ValueRef::to_value))
            }
        }
    )*};
}

#[cfg(any(feature = "chrono", feature = "decimal", feature = "jiff", feature = "time"))]
pub(crate) use texts;

/// Returns the problem of a property whose text is not one of the type `T`. Shows only a text of digits and of what dates and
/// numbers have between them: any other text may be private.
#[cold]
pub fn unread<T: Property>(value: Option<ValueRef<'_>>) -> PropertyProblem {
    let is_number = |text: &str| text.chars().all(|letter| letter.is_ascii_digit() || "-+.,:[]\"".contains(letter));
    let found = match value {
        Some(ValueRef::String(text)) if text.len() <= 50 && is_number(text) => format!("`{text}`"),
        other => found(other),
    };
    PropertyProblem { expected: T::expected(), found }
}

/// Appends the text that a key part of the value has, so that texts have the order of the values.
pub fn write_as_key<K: Kind>(
    value: K::Value<'_>,
    expected: &'static str,
    text: &mut String,
) -> Result<(), PropertyProblem>
where
    Plain: Encode<K>,
{
    let mut key = KeyBuffer::new();
    Plain::write(value, Escape::part(true), &mut key)
        .map_err(|problem| PropertyProblem { expected: expected.into(), found: problem.to_string() })?;
    text.push_str(key.as_str());
    Ok(())
}

fn write_integer<T: IntegerType>(value: T, text: &mut String) -> Result<(), PropertyProblem> {
    write_as_key::<kind::Integer<T>>(value, T::NAME, text)
}

fn read_integer<T: IntegerType>(value: ValueRef<'_>) -> Option<T> {
    match integer(value) {
        Some(number) => <kind::Integer<T> as Kind>::load(ValueRef::Int64(number)),
        None => <kind::Integer<T> as Kind>::load(value),
    }
}

texts! {
    u64: ByOrder, PropertyType::UInt64, "a `u64`", write_integer, read_integer;
    #[diagnostic::do_not_recommend]
    u128: ByOrder, PropertyType::UInt128, "a `u128`", write_integer, read_integer;
    #[diagnostic::do_not_recommend]
    i128: ByOrder, PropertyType::Int128, "an `i128`", write_integer, read_integer;
    #[diagnostic::do_not_recommend]
    IpAddr: ByEquality, PropertyType::Address, "an IP address", write_shown, read_shown;
    #[diagnostic::do_not_recommend]
    Ipv4Addr: ByEquality, PropertyType::Address, "an IPv4 address", write_shown, read_shown;
    #[diagnostic::do_not_recommend]
    Ipv6Addr: ByEquality, PropertyType::Address, "an IPv6 address", write_shown, read_shown;
}

pub fn write_shown(value: impl Display, text: &mut String) -> Result<(), PropertyProblem> {
    write!(text, "{value}").map_err(|error| PropertyProblem { expected: "a text".into(), found: error.to_string() })
}

fn read_shown<T: FromStr>(value: ValueRef<'_>) -> Option<T> {
    match value {
        ValueRef::String(text) => text.parse().ok(),
        _ => None,
    }
}
