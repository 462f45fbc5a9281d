//! Types that are stored as a text that they do not hold: integers that no type of the service holds, and addresses.

use std::{
    fmt::{Display, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use table_store::{PropertyType, ValueRef, error::PropertyProblem};

use super::{Always, ByEquality, ByOrder, Property, found};
use crate::model::key::{Decode, Encode, Escape, Integer, KeyBuffer, Kind, Plain, kind};

/// Implements [`Property`] for types that are stored as a text, from their comparisons, the type of the property, what the
/// text is, and the functions that write it and that read a value.
macro_rules! texts {
    ($($type:ty: $order:ty, $property:expr, $what:literal, $write:expr, $read:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Property for $type {
            type Pass<'a, T: 'a> = T;
            type Arg<'a> = $type;
            type Presence = Always;
            type Order = $order;

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

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(crate) use texts;

/// Returns the problem of a property whose text is not one of the type `T`. Shows the text, which is short if it is nearly
/// one.
#[cold]
pub fn unread<T: Property>(value: Option<ValueRef<'_>>) -> PropertyProblem {
    let found = match value {
        Some(ValueRef::String(text)) if text.len() <= 50 => format!("`{text}`"),
        other => found(other),
    };
    PropertyProblem { expected: T::expected(), found }
}

/// Appends the text that a key part of the value has, so that texts have the order of the values.
pub fn write_as_key<K: Kind>(value: K::Value<'_>, text: &mut String) -> Result<(), PropertyProblem>
where
    Plain: Encode<K>,
{
    let mut key = KeyBuffer::new();
    Plain::write(value, Escape::part(true), &mut key)
        .map_err(|problem| PropertyProblem { expected: K::NAME.into(), found: problem.to_string() })?;
    text.push_str(key.as_str());
    Ok(())
}

/// Reads a text that [`write_as_key`] has written.
pub fn read_as_key<'a, K: Kind>(value: ValueRef<'a>) -> Option<K::Owned<'a>>
where
    Plain: Decode<K>,
{
    match value {
        ValueRef::String(text) => Plain::read(text, Escape::part(true)).ok(),
        _ => None,
    }
}

/// Reads an integer that is a number, a text without padding, or the text of a key. The text of a negative number in a key
/// has more digits than any integer, so that it is no text without padding.
fn read_integer<T: Integer>(value: ValueRef<'_>) -> Option<T> {
    <kind::Integer<T> as Kind>::load(value).or_else(|| read_as_key::<kind::Integer<T>>(value))
}

texts! {
    u64: ByOrder, PropertyType::UInt64, "a `u64`", write_as_key::<kind::Integer<Self>>, read_integer;
    u128: ByOrder, PropertyType::UInt128, "a `u128`", write_as_key::<kind::Integer<Self>>, read_integer;
    i128: ByOrder, PropertyType::Int128, "an `i128`", write_as_key::<kind::Integer<Self>>, read_integer;
    IpAddr: ByEquality, PropertyType::String, "an IP address", write_shown, read_shown;
    Ipv4Addr: ByEquality, PropertyType::String, "an IPv4 address", write_shown, read_shown;
    Ipv6Addr: ByEquality, PropertyType::String, "an IPv6 address", write_shown, read_shown;
}

fn write_shown(value: impl Display, text: &mut String) -> Result<(), PropertyProblem> {
    write!(text, "{value}").map_err(|error| PropertyProblem { expected: "a text".into(), found: error.to_string() })
}

fn read_shown<T: FromStr>(value: ValueRef<'_>) -> Option<T> {
    match value {
        ValueRef::String(text) => text.parse().ok(),
        _ => None,
    }
}
