//! Property values.

use std::fmt;

use crate::{Guid, Ticks};

/// A property's value, of one of the service's eight types.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `Edm.String`: at most 32 Ki UTF-16 units.
    String(String),
    /// `Edm.Binary`: at most 64 KiB.
    Binary(Vec<u8>),
    /// `Edm.Boolean`.
    Boolean(bool),
    /// `Edm.Int32`.
    Int32(i32),
    /// `Edm.Int64`.
    Int64(i64),
    /// `Edm.Double`, infinities and NaN included.
    Double(f64),
    /// `Edm.Guid`.
    Guid(Guid),
    /// `Edm.DateTime`: not before 1601-01-01 UTC.
    DateTime(Ticks),
    /// A value of a service's response that has none of these types, or not the type that the response states. The text
    /// describes what was found. Such a value cannot be written, and every field that reads it reports an error.
    Unreadable(String),
}

/// A property's value, borrowed from its row.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are those of `Value`")]
pub enum ValueRef<'a> {
    String(&'a str),
    Binary(&'a [u8]),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Guid(Guid),
    DateTime(Ticks),
    Unreadable(&'a str),
}

impl Value {
    /// Borrows the value.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::String(text) => ValueRef::String(text),
            Self::Binary(bytes) => ValueRef::Binary(bytes),
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::Int32(value) => ValueRef::Int32(*value),
            Self::Int64(value) => ValueRef::Int64(*value),
            Self::Double(value) => ValueRef::Double(*value),
            Self::Guid(value) => ValueRef::Guid(*value),
            Self::DateTime(value) => ValueRef::DateTime(*value),
            Self::Unreadable(found) => ValueRef::Unreadable(found),
        }
    }
}

impl ValueRef<'_> {
    /// Returns the value with its text or bytes copied.
    pub fn to_value(self) -> Value {
        match self {
            Self::String(text) => Value::String(text.to_owned()),
            Self::Binary(bytes) => Value::Binary(bytes.to_owned()),
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::Double(value) => Value::Double(value),
            Self::Guid(value) => Value::Guid(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Unreadable(found) => Value::Unreadable(found.to_owned()),
        }
    }

    /// Checks whether the two values are stored as the same value. Doubles are compared by their bits, but every NaN is
    /// the same as every other.
    #[doc(hidden)]
    pub fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Double(left), Self::Double(right)) => {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }
            _ => self == other,
        }
    }

    /// Returns the service's name of the type, such as `Edm.Int64`, or `unreadable` if the value cannot be read.
    pub const fn edm_type(self) -> &'static str {
        match self {
            Self::String(_) => "Edm.String",
            Self::Binary(_) => "Edm.Binary",
            Self::Boolean(_) => "Edm.Boolean",
            Self::Int32(_) => "Edm.Int32",
            Self::Int64(_) => "Edm.Int64",
            Self::Double(_) => "Edm.Double",
            Self::Guid(_) => "Edm.Guid",
            Self::DateTime(_) => "Edm.DateTime",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// The value as an OData filter literal: `'it''s'`, `5`, `5L`, `1.5`, `true`, `datetime'…'`, `guid'…'`, `X'0A'`.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Binary(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Int32(value) => write!(f, "{value}"),
            Self::Int64(value) => write!(f, "{value}L"),
            // The point distinguishes the value from an Int32. There is no exponent, because not every parser of
            // filters supports one.
            Self::Double(value) if value.fract() == 0.0 => write!(f, "{value}.0"),
            Self::Double(value) => write!(f, "{value}"),
            Self::Guid(value) => write!(f, "guid'{value}'"),
            Self::DateTime(value) => write!(f, "datetime'{value}'"),
            // No value is equal to `null`, just as no value is equal to an unreadable one.
            Self::Unreadable(_) => f.write_str("null"),
        }
    }
}
