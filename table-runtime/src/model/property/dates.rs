//! Dates as properties: their texts.

use table_store::{
    ValueRef,
    error::PropertyProblem,
    unstable::{civil_from_days, days_from_civil},
};

use super::texts::{read_as_key, write_as_key};
use crate::model::key::{Date, kind};

/// Appends the text of a date.
///
/// # Errors
/// Returns an error if its year is outside 0001 to 9999.
pub fn write_date(date: Date, text: &mut String) -> Result<(), PropertyProblem> {
    write_as_key::<kind::Date>(date, text)
}

/// Reads a date: the text, or the JSON that the crates for time write: the text in quotes, or the year and the day of the
/// year. The caller checks whether the month has the day.
pub fn read_date(value: ValueRef<'_>) -> Option<Date> {
    let ValueRef::String(text) = value else { return None };
    let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(numbers) = within('[', ']') {
        let (year, day) = numbers.split_once(',')?;
        let (year, day): (u64, u64) = (year.trim().parse().ok()?, day.trim().parse().ok()?);
        if !(1..=9999).contains(&year) || !(1..=366).contains(&day) {
            return None;
        }
        let (of, month, day) = civil_from_days(days_from_civil(year, 1, 1) + day - 1);
        let date = Date { year: of.try_into().ok()?, month: month.try_into().ok()?, day: day.try_into().ok()? };
        return Some(date).filter(|_| of == year);
    }
    read_as_key::<kind::Date>(ValueRef::String(within('"', '"').unwrap_or(text)))
}
