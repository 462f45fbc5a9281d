//! `Edm.DateTime`: .NET ticks.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

/// A moment as `Edm.DateTime` holds it: 100-nanosecond ticks since 0001-01-01T00:00 UTC, up to the end of the year
/// 9999.
///
/// ```
/// use table_runtime::Ticks;
/// let ticks: Ticks = "2010-05-28T00:00:00Z".parse()?;
/// assert_eq!(ticks.get(), 634_106_016_000_000_000);
/// assert_eq!(ticks.to_string(), "2010-05-28T00:00:00.0000000Z");
/// # Ok::<(), table_runtime::error::ParseTicksError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct Ticks(u64);

/// The error of a text that is not a moment such as `2010-05-28T00:00:00.1234567Z`, in the years 0001 to 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time: expected a text such as 2010-05-28T00:00:00.1234567Z, in the years 0001 to 9999")]
pub struct ParseTicksError;

const PER_SECOND: u64 = 10_000_000;
const SECONDS_PER_DAY: u64 = 86_400;
/// Seconds from 0001-01-01 to 1970-01-01.
const UNIX_SECONDS: i64 = 62_135_596_800;

impl Ticks {
    /// The last tick of the year 9999, .NET's `DateTime.MaxValue`.
    pub const MAX: Self = Self(3_155_378_975_999_999_999);
    /// 1970-01-01T00:00 UTC.
    pub const UNIX_EPOCH: Self = Self(621_355_968_000_000_000);
    /// 1601-01-01T00:00 UTC, the first moment that a property can hold.
    pub const FIRST_PROPERTY: Self = Self(504_911_232_000_000_000);

    /// Creates the moment that is `ticks` after 0001-01-01T00:00 UTC. Returns `None` if it is after the year 9999.
    pub const fn new(ticks: u64) -> Option<Self> {
        if ticks <= Self::MAX.0 { Some(Self(ticks)) } else { None }
    }

    /// Returns the number of ticks since 0001-01-01T00:00 UTC.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Converts a moment of Unix time, rounded down to the tick. Returns `None` outside the years 0001 to 9999.
    ///
    /// In a leap second, `nanoseconds` exceed a second: such a moment is the last tick of its second, so that it stays
    /// before the next one.
    pub const fn from_unix(seconds: i64, nanoseconds: u32) -> Option<Self> {
        let Some(seconds) = seconds.checked_add(UNIX_SECONDS) else { return None };
        // The limit is beyond the year 9999, and low enough that the product below cannot overflow.
        if seconds < 0 || seconds > 600_000_000_000 {
            return None;
        }
        let ticks = nanoseconds as u64 / 100;
        let ticks = if ticks < PER_SECOND { ticks } else { PER_SECOND - 1 };
        Self::new(seconds.unsigned_abs() * PER_SECOND + ticks)
    }

    /// Returns the number of whole days since 0001-01-01.
    #[doc(hidden)]
    pub const fn days(self) -> u64 {
        self.0 / (SECONDS_PER_DAY * PER_SECOND)
    }

    /// Returns the first moment of the day that is `days` after 0001-01-01, or `None` if it is after the year 9999.
    #[doc(hidden)]
    pub const fn of_days(days: u64) -> Option<Self> {
        Self::new(days * SECONDS_PER_DAY * PER_SECOND)
    }

    /// Returns the Unix time: whole seconds, rounded down, and the nanoseconds after them.
    #[inline]
    pub const fn to_unix(self) -> (i64, u32) {
        let seconds = (self.0 / PER_SECOND).cast_signed() - UNIX_SECONDS;
        #[allow(clippy::cast_possible_truncation, reason = "below a second's nanoseconds")]
        let nanoseconds = (self.0 % PER_SECOND * 100) as u32;
        (seconds, nanoseconds)
    }

    /// Returns the current time of the system's clock.
    pub fn now() -> Self {
        Self::from_system(SystemTime::now()).unwrap_or(Self::MAX)
    }

    /// Converts a time of the system's clock, rounded down to the tick. Returns `None` outside the years 0001 to 9999.
    pub fn from_system(time: SystemTime) -> Option<Self> {
        let (seconds, nanoseconds) = unix(time);
        Self::from_unix(seconds, nanoseconds)
    }

    /// Converts the moment to a time of the system's clock. Returns `None` if that clock cannot represent it: on
    /// Windows, for example, no time before 1601.
    #[inline]
    pub fn to_system(self) -> Option<SystemTime> {
        let (seconds, nanoseconds) = self.to_unix();
        if let Ok(seconds) = u64::try_from(seconds) {
            return SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        }
        let second = SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.unsigned_abs()));
        second?.checked_add(Duration::from_nanos(nanoseconds.into()))
    }
}

/// Returns the Unix time of `time`: whole seconds, rounded down, and the nanoseconds after them. The seconds saturate.
pub fn unix(time: SystemTime) -> (i64, u32) {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN + 1, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanoseconds => (seconds - 1, 1_000_000_000 - nanoseconds),
            }
        }
    }
}

/// Returns the year, month and day of a day count since 0001-01-01 (Howard Hinnant's `civil_from_days`).
pub const fn civil_from_days(days: u64) -> (u64, u64, u64) {
    // Days are counted from 0000-03-01, so that a leap day is the last day of its year.
    let days = days + 306;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + (month <= 2) as u64, month, day)
}

/// Returns the number of days from 0001-01-01 to a date of the years 1 to 10000 (Howard Hinnant's `days_from_civil`).
pub const fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year / 400, year % 400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 306
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / PER_SECOND;
        let (year, month, day) = civil_from_days(seconds / SECONDS_PER_DAY);
        let second = seconds % SECONDS_PER_DAY;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:07}Z",
            second / 3600,
            second / 60 % 60,
            second % 60,
            self.0 % PER_SECOND
        )
    }
}

impl fmt::Debug for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Ticks> for u64 {
    fn from(ticks: Ticks) -> Self {
        ticks.0
    }
}

impl TryFrom<u64> for Ticks {
    type Error = ParseTicksError;

    fn try_from(ticks: u64) -> Result<Self, ParseTicksError> {
        Self::new(ticks).ok_or(ParseTicksError)
    }
}

impl FromStr for Ticks {
    type Err = ParseTicksError;

    /// Parses a text such as `2010-05-28T00:00:00Z`, with any number of fractional digits. Digits below a tick are
    /// dropped.
    fn from_str(text: &str) -> Result<Self, ParseTicksError> {
        parse(text).ok_or(ParseTicksError)
    }
}

fn parse(text: &str) -> Option<Ticks> {
    let text = text.strip_suffix(['Z', 'z'])?.as_bytes();
    let (whole, fraction) = text.split_at_checked("2010-05-28T00:00:00".len())?;
    let number = |at: std::ops::Range<usize>| {
        whole[at]
            .iter()
            .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
    };
    let delimiters = [(4, b"--"), (7, b"--"), (10, b"Tt"), (13, b"::"), (16, b"::")];
    if delimiters.into_iter().any(|(at, delimiter)| !delimiter.contains(&whole[at])) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if year == 0 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return None;
    }
    let ticks = match fraction {
        [] => 0,
        [b'.', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            digits.iter().chain([b'0'; 7].iter()).take(7).fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
        }
        _ => return None,
    };
    Ticks::new((days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second) * PER_SECOND + ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_calendar_converts_to_a_date_and_back() {
        let mut days = 0;
        for year in 1..=9999 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, length) in
                [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate()
            {
                for day in 1..=length {
                    let date = (year, month as u64 + 1, day);
                    assert_eq!(civil_from_days(days), date);
                    assert_eq!(days_from_civil(date.0, date.1, date.2), days);
                    days += 1;
                }
            }
        }
        assert_eq!(days * SECONDS_PER_DAY * PER_SECOND - 1, Ticks::MAX.get());
    }

    #[test]
    fn texts_that_are_not_times_are_refused() {
        for text in [
            "",
            "Z",
            "2010-05-28",
            "2010-02-29T00:00:00Z",
            "2010-13-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "2010-05-28T24:00:00Z",
            "2010-05-28T00:00:00.Z",
            "2010-05-28T00:00:00.1",
            "2010-05-28T00:00:00+01:00",
            "２０１０-05-28T00:00:00Z",
        ] {
            assert_eq!(text.parse::<Ticks>(), Err(ParseTicksError), "{text}");
        }
        assert_eq!("9999-12-31T23:59:59.99999999Z".parse(), Ok(Ticks::MAX));
        assert_eq!(serde_json::from_str::<Ticks>("3155378975999999999").ok(), Some(Ticks::MAX));
        assert!(serde_json::from_str::<Ticks>("3155378976000000000").is_err());
        assert_eq!("1970-01-01T00:00:00.5Z".parse::<Ticks>().map(Ticks::to_unix), Ok((0, 500_000_000)));
    }

    #[test]
    fn unix_time_before_the_epoch_is_rounded_down() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(unix(before), (-1, 999_999_999));
        assert_eq!(Ticks::from_system(before).map(Ticks::get), Some(Ticks::UNIX_EPOCH.get() - 1));
        assert_eq!(Ticks::from_unix(-UNIX_SECONDS, 0), Ticks::new(0));
        assert_eq!(Ticks::from_unix(0, 1_999_999_999).map(Ticks::to_unix), Some((0, 999_999_900)));
        assert_eq!(Ticks::from_unix(-UNIX_SECONDS - 1, 999_999_999), None);
        assert_eq!(Ticks::from_unix(i64::MAX, 0), None);
        assert_eq!(Ticks::from_unix(i64::MIN, 0), None);
    }
}
