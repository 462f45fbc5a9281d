//! Slices: tables that each hold the rows of one year, month or day.

use std::{borrow::Cow, fmt};

use table_store::{
    Ticks,
    unstable::{civil_from_days, days_from_civil},
};

/// Rule that computes the table of a row from a time in its key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SliceInfo {
    /// Field that holds the time.
    pub field: Cow<'static, str>,
    /// Period that a slice holds.
    pub unit: SliceUnit,
}

/// Period that a slice holds, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SliceUnit {
    /// A year: `Log2010`.
    Year,
    /// A month: `Log201006`.
    Month,
    /// A day: `Log20100603`.
    Day,
}

/// A table that holds the rows of a year, a month or a day.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// First moment of the slice.
    pub start: Ticks,
    /// First moment after the slice; `None` for the last slice of the year 9999.
    pub end: Option<Ticks>,
    /// The table.
    pub table: String,
}

/// Kind of a field of the type `T` by which tables can be sliced.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a table cannot be sliced by `{T}`",
    label = "not a time",
    note = "slices are made of a time that is a part of the key: `std::time::SystemTime`, or one of `time`, `chrono` or \
            `jiff`, behind features of `table-runtime`"
)]
pub trait SliceBy<T> {}

/// Checks whether a table has the rows of a layout whose table, or the beginning of whose slices' names, is given: it has
/// this name, or this name and digits. A slice may be of any unit. The service ignores case in the names of tables.
pub fn is_table_of(name: &str, table: &str, is_sliced: bool) -> bool {
    let Some((begin, digits)) = name.split_at_checked(table.len()) else { return false };
    begin.eq_ignore_ascii_case(table)
        && digits.is_empty() != is_sliced
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl SliceInfo {
    /// Slices of which nothing is known.
    pub(super) const UNKNOWN: Self = Self { field: Cow::Borrowed(""), unit: SliceUnit::Day };

    /// Returns the rule that slices by a field of the type `T`, whose kind is `K`.
    #[doc(hidden)]
    pub const fn of<T, K: SliceBy<T>>(field: &'static str, unit: SliceUnit) -> Self {
        Self { field: Cow::Borrowed(field), unit }
    }
}

/// Returns the slice that holds a moment.
pub fn at(info: &SliceInfo, table: &str, time: Ticks) -> Slice {
    let (year, month, day) = civil_from_days(time.days());
    let (start, digits) = match info.unit {
        SliceUnit::Year => ((year, 1, 1), format!("{year:04}")),
        SliceUnit::Month => ((year, month, 1), format!("{year:04}{month:02}")),
        SliceUnit::Day => ((year, month, day), format!("{year:04}{month:02}{day:02}")),
    };
    let (year, month, day) = start;
    let next = match info.unit {
        SliceUnit::Year => days_from_civil(year + 1, 1, 1),
        SliceUnit::Month if month == 12 => days_from_civil(year + 1, 1, 1),
        SliceUnit::Month => days_from_civil(year, month + 1, 1),
        SliceUnit::Day => days_from_civil(year, month, day) + 1,
    };
    let start = Ticks::of_days(days_from_civil(year, month, day)).unwrap_or(time);
    Slice { start, end: Ticks::of_days(next), table: format!("{table}{digits}") }
}

/// Returns the slice whose table has this name; `None` if no slice has it.
pub fn named(info: &SliceInfo, table: &str, name: &str) -> Option<Slice> {
    let digits = name.strip_prefix(table).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let number = |at: std::ops::Range<usize>| digits.get(at)?.parse::<u64>().ok();
    let (year, month, day) = match info.unit {
        SliceUnit::Year => (number(0..4)?, 1, 1),
        SliceUnit::Month => (number(0..4)?, number(4..6)?, 1),
        SliceUnit::Day => (number(0..4)?, number(4..6)?, number(6..8)?),
    };
    if year == 0 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let slice = at(info, table, Ticks::of_days(days_from_civil(year, month, day))?);
    // Rejects names with more digits, and days that the month does not have.
    (slice.table == name).then_some(slice)
}

/// Returns the pattern of the slices' names for display: `LogYYYYMM`.
pub fn pattern(info: &SliceInfo, table: &str) -> String {
    let digits = match info.unit {
        SliceUnit::Year => "YYYY",
        SliceUnit::Month => "YYYYMM",
        SliceUnit::Day => "YYYYMMDD",
    };
    format!("{table}{digits}")
}

impl fmt::Display for SliceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
        })
    }
}
