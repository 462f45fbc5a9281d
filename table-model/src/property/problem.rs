//! Properties that do not fit their fields, and the reading of names, which the derived code calls.

use table_store::{ValueRef, unstable::one_of};

use super::{Property, PropertyProblem};

/// Returns the problem of a property that does not fit a field of the type `T`.
#[cold]
pub fn misfit<T: Property>(value: Option<ValueRef<'_>>) -> PropertyProblem {
    PropertyProblem { expected: T::expected(), found: found(value) }
}

/// Describes a property for error messages: a number or a time with its type, any other value by its type alone.
pub fn found(value: Option<ValueRef<'_>>) -> String {
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

/// Reads the name of a unit variant, and returns its position among `names`.
pub fn name_from_value(value: Option<ValueRef<'_>>, names: &[&str]) -> Result<usize, PropertyProblem> {
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
