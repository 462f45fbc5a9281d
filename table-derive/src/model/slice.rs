//! A table for each year, month or day.

use std::fmt;

use proc_macro2::Span;
use syn::Ident;

use super::Field;
use crate::{attributes::find, errors::Errors};

/// `#[table(slice = month(field))]`.
pub(crate) struct Slice {
    pub(crate) unit: Unit,
    /// The field's place among the fields.
    pub(crate) field: usize,
    /// Where the field is named.
    pub(crate) span: Span,
}

/// What a slice holds.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Year,
    Month,
    Day,
}

const UNITS: [(&str, Unit); 3] = [("year", Unit::Year), ("month", Unit::Month), ("day", Unit::Day)];

impl Slice {
    /// Nothing if it names no unit, or no field.
    pub(super) fn read(fields: &[Field], unit: &Ident, field: &Ident, errors: &mut Errors) -> Option<Self> {
        let units: Vec<_> = UNITS.iter().map(|(name, _)| *name).collect();
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        let (unit, at) = (find(unit, "unit", &units, errors), find(field, "field", &names, errors));
        Some(Self { unit: UNITS[unit?].1, field: at?, span: field.span() })
    }

    /// How a table is called, as documentation says it.
    pub(crate) fn pattern(&self) -> &'static str {
        match self.unit {
            Unit::Year => "YYYY",
            Unit::Month => "YYYYMM",
            Unit::Day => "YYYYMMDD",
        }
    }
}

/// The runtime's name for it.
impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Year => "Year",
            Self::Month => "Month",
            Self::Day => "Day",
        })
    }
}
