//! Values for which the laws are tried.

use std::time::{Duration, SystemTime};

use proptest::{collection::vec, prelude::*, sample::select};
use rust_decimal::Decimal;
use table_runtime::Ticks;
use time::OffsetDateTime;
use uuid::Uuid;

use super::expected::forbidden;

/// Characters at the limits of escapes, delimiters, case folding and the two orders of Unicode.
pub(crate) const CORNERS: &[char] = &[
    ' ',
    '!',
    '"',
    '~',
    '%',
    '/',
    '\\',
    '#',
    '?',
    '_',
    '-',
    '\'',
    '|',
    '0',
    '2',
    'F',
    'A',
    'a',
    'S',
    'z',
    '\0',
    '\t',
    '\n',
    '\x1F',
    '\x7F',
    '\u{80}',
    '\u{9F}',
    '\u{A0}',
    'ς',
    'Σ',
    'σ',
    'İ',
    'ı',
    'ß',
    'ẞ',
    'ŉ',
    'ﬁ',
    'Ǆ',
    'ΐ',
    '\u{212A}',
    '\u{D7FF}',
    '\u{E000}',
    '\u{FFFF}',
    '\u{10000}',
    '\u{10400}',
    '\u{10FFFF}',
];

/// Separators that an entity can have.
pub(crate) const SEPARATORS: &[u8] = b"!\"$&()*+,.:;<=>@[]^_`{|}";

pub(crate) fn character() -> impl Strategy<Value = char> {
    prop_oneof![6 => select(CORNERS), 1 => any::<char>()]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    vec(character(), 0..6).prop_map(String::from_iter)
}

/// Returns text that `raw` accepts in any part of a key.
pub(crate) fn raw() -> impl Strategy<Value = String> {
    let is_delimiter = |other| other == ' ' || SEPARATORS.iter().any(|separator| char::from(*separator) == other);
    let refused = move |other: &char| forbidden(*other) || is_delimiter(*other);
    text().prop_map(move |text| text.chars().filter(|character| !refused(character)).collect())
}

pub(crate) fn instant() -> impl Strategy<Value = Ticks> {
    let max = Ticks::MAX.get();
    let edges = select(vec![0, 1, 9, 10, Ticks::UNIX_EPOCH.get() - 1, Ticks::UNIX_EPOCH.get(), max - 1, max]);
    prop_oneof![edges, 0..=max].prop_map(|ticks| Ticks::new(ticks).unwrap())
}

/// Returns nanoseconds of Unix time in the years 1 to 9999, except the last day, which jiff does not have.
pub(crate) fn nanoseconds() -> impl Strategy<Value = i128> {
    (instant(), 0..100_i128).prop_map(|(ticks, rest)| {
        let (seconds, nanoseconds) = ticks.to_unix();
        (i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds) + rest).min(253_402_207_200_999_999_999)
    })
}

pub(crate) fn of_time(nanoseconds: i128) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).unwrap()
}

pub(crate) fn of_chrono(nanoseconds: i128) -> chrono::DateTime<chrono::Utc> {
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap();
    let rest = u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap();
    chrono::DateTime::from_timestamp(seconds, rest).unwrap()
}

pub(crate) fn of_jiff(nanoseconds: i128) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(nanoseconds).unwrap()
}

pub(crate) fn of_system(nanoseconds: i128) -> SystemTime {
    let distance = nanoseconds.unsigned_abs();
    let seconds = Duration::from_secs(u64::try_from(distance / 1_000_000_000).unwrap());
    let distance = seconds + Duration::from_nanos(u64::try_from(distance % 1_000_000_000).unwrap());
    if nanoseconds < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
}

/// Returns years, months and days up to the 28th.
pub(crate) fn civil() -> impl Strategy<Value = (i16, u8, u8)> {
    let year = prop_oneof![select(vec![1, 2, 999, 1000, 1999, 2000, 9998, 9999]), 1..=9999_i16];
    (year, 1..=12_u8, 1..=28_u8)
}

pub(crate) fn time_date((year, month, day): (i16, u8, u8)) -> time::Date {
    time::Date::from_calendar_date(year.into(), month.try_into().unwrap(), day).unwrap()
}

pub(crate) fn chrono_date((year, month, day): (i16, u8, u8)) -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(year.into(), month.into(), day.into()).unwrap()
}

pub(crate) fn jiff_date((year, month, day): (i16, u8, u8)) -> jiff::civil::Date {
    jiff::civil::Date::new(year, month.cast_signed(), day.cast_signed()).unwrap()
}

pub(crate) fn uuid() -> impl Strategy<Value = Uuid> {
    let edges = select(vec![0, 1, 0x10, 0x9, 0xA, u128::MAX, u128::MAX - 1, 1 << 64, 1 << 127, (1 << 96) - 1]);
    prop_oneof![edges, any::<u128>()].prop_map(Uuid::from_u128)
}

/// Returns decimals that a key part of so many places and digits holds. Some have zeros at their end, or fewer places.
pub(crate) fn decimal(places: u32, digits: u32) -> impl Strategy<Value = Decimal> {
    let end = 10_i128.pow(digits);
    let greatest = (end - 1).min(Decimal::MAX.mantissa());
    let edges = select(vec![-greatest, -10, -9, -1, 0, 1, 9, 10, greatest]);
    let mantissa = prop_oneof![edges, -1000..1000_i128, -greatest..=greatest];
    (mantissa, 0..=places).prop_map(move |(mantissa, fewer)| {
        let mantissa = mantissa % (greatest + 1);
        let is_held = (mantissa * 10_i128.pow(fewer.min(9))).abs() < end;
        let fewer = if is_held { fewer.min(9) } else { 0 };
        Decimal::from_i128_with_scale(mantissa, places - fewer)
    })
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        pub(crate) fn $type() -> impl Strategy<Value = $type> {
            let (min, max) = ($type::MIN, $type::MAX);
            let edges = vec![min, min + 1, 0, 1, 9, 10, 99, 100, max / 2, max - 1, max];
            prop_oneof![select(edges), any::<$type>()]
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
