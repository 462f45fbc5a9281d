//! Table slices: one table for each year, month or day.

use std::fmt;

use proc_macro2::Span;
use syn::Ident;

use super::field::Field;
use crate::{errors::Errors, names};

/// Content of `#[table(slice = month(field))]`.
pub(crate) struct Slice {
    pub(crate) unit: Unit,
    /// The field's position among the fields.
    pub(crate) field: usize,
    /// The span of the field's name in the attribute.
    pub(crate) span: Span,
}

/// Time span of a slice.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Year,
    Month,
    Day,
}

const UNITS: [(&str, Unit); 3] = [("year", Unit::Year), ("month", Unit::Month), ("day", Unit::Day)];

impl Slice {
    /// Resolves the unit and the field, or reports an error.
    pub(super) fn read(fields: &[Field], unit: &Ident, field: &Ident, errors: &mut Errors) -> Option<Self> {
        let units: Vec<_> = UNITS.iter().map(|(name, _)| *name).collect();
        let (unit, at) = (names::find(unit, "unit", &units, errors), Field::find(fields, field, errors));
        Some(Self { unit: UNITS[unit?].1, field: at?, span: field.span() })
    }

    /// Returns the text that documentation shows for the digits of a slice's name.
    pub(crate) fn digits(&self) -> &'static str {
        match self.unit {
            Unit::Year => "YYYY",
            Unit::Month => "YYYYMM",
            Unit::Day => "YYYYMMDD",
        }
    }
}

/// Writes the name of the runtime's variant.
impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Year => "Year",
            Self::Month => "Month",
            Self::Day => "Day",
        })
    }
}
