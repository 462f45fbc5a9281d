//! Dates as properties: their texts.

use table_store::{ValueRef, error::PropertyProblem};

use super::texts::write_as_key;
use crate::model::key::{Date, Kind, kind};

/// Appends the text of a date.
///
/// # Errors
/// Returns an error if its year is outside 0001 to 9999.
pub fn write_date(date: Date, text: &mut String) -> Result<(), PropertyProblem> {
    write_as_key::<kind::Date>(date, "a date of the years 0001 to 9999", text)
}

/// Reads the text of a date, or its JSON. The caller checks whether the month has the day.
pub fn read_date(value: ValueRef<'_>) -> Option<Date> {
    <kind::Date as Kind>::load(value)
}
