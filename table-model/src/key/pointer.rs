//! Key fields as properties of a pointer. A pointer stores a key field as a property if its own key does not imply the
//! field's value.

#![allow(clippy::unnecessary_wraps, reason = "some kinds cannot fail, and all look alike")]

use std::borrow::Cow;

use table_store::{
    Guid, Properties, Ticks, ValueRef,
    error::PropertyProblem,
    unstable::{civil_from_days, days_from_civil},
};

use super::{DateParts, DecimalParts, Decode, Encode, Escape, KeyBuffer, Plain, UnixTime, kind, time::tick_of};

pub(super) fn store_text(text: &str, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    properties.push(name, ValueRef::String(text));
    Ok(())
}

pub(super) fn load_text(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::String(text) => Some(text.into()),
        _ => None,
    }
}

pub(super) fn store_character(value: char, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    store_text(value.encode_utf8(&mut [0; 4]), name, properties)
}

pub(super) fn load_character(value: ValueRef<'_>) -> Option<char> {
    let text = load_text(value)?;
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

/// Stores an integer as `Edm.Int32` or `Edm.Int64` if that type holds every value of `T`, else as text. Unlike that of a
/// `Property`, the text has no padding, because pointers are stored so.
pub(super) fn store_integer<T: super::IntegerType>(
    value: T,
    name: &str,
    properties: &mut Properties,
) -> Result<(), PropertyProblem> {
    let (negative, number) = value.split();
    let text = value.to_string();
    let stored = match i64::try_from(number).map(|number| if negative { !number } else { number }) {
        // The test uses 2^31, because the number of digits does not distinguish `u32` from `i32`: the greatest value of
        // each has 10.
        Ok(number) if T::join(false, 0x7FFF_FFFF_u128 + 1).is_none() => {
            i32::try_from(number).map_or(ValueRef::String(&text), ValueRef::Int32)
        }
        Ok(number) if T::join(false, 0x7FFF_FFFF_FFFF_FFFF_u128 + 1).is_none() => ValueRef::Int64(number),
        _ => ValueRef::String(&text),
    };
    properties.push(name, stored);
    Ok(())
}

pub(super) fn load_integer<T: super::IntegerType>(value: ValueRef<'_>) -> Option<T> {
    let number = match value {
        ValueRef::Int32(number) => i128::from(number),
        ValueRef::Int64(number) => i128::from(number),
        ValueRef::String(text) => match text.parse() {
            Ok(number) => number,
            // The text of a negative number in a key is no `i128`: its digits are at least 10^39 - 2^127.
            Err(_) => match text.parse() {
                Ok(number) => return T::join(false, number),
                Err(_) => return <Plain as Decode<kind::Integer<T>>>::read(text, Escape::part(true)).ok(),
            },
        },
        _ => return None,
    };
    let split = if number < 0 { !number } else { number };
    T::join(number < 0, split.unsigned_abs())
}

/// Stores a decimal as text. Zeros at its end are left out, so that equal numbers have one text.
pub(super) fn store_decimal(
    value: DecimalParts,
    name: &str,
    properties: &mut Properties,
) -> Result<(), PropertyProblem> {
    let shortest = value.shorter_forms().last().unwrap_or(value);
    store_text(&shortest.to_string(), name, properties)
}

pub(super) fn load_decimal(value: ValueRef<'_>) -> Option<DecimalParts> {
    let whole = |mantissa| Some(DecimalParts { mantissa, scale: 0 });
    match value {
        ValueRef::String(text) => DecimalParts::parse(text),
        ValueRef::Int32(number) => whole(number.into()),
        ValueRef::Int64(number) => whole(number.into()),
        _ => None,
    }
}

pub(super) fn store_id(value: Guid, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    properties.push(name, ValueRef::Guid(value));
    Ok(())
}

pub(super) fn load_id(value: ValueRef<'_>) -> Option<Guid> {
    match value {
        ValueRef::Guid(id) => Some(id),
        ValueRef::String(text) => text.parse().ok(),
        _ => None,
    }
}

pub(super) fn store_instant(value: UnixTime, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    let ticks = tick_of(value).map_err(|problem| PropertyProblem {
        expected: "a time of the years 0001 to 9999".into(),
        found: problem.to_string(),
    })?;
    properties.push(name, ValueRef::DateTime(ticks));
    Ok(())
}

pub(super) fn load_instant(value: ValueRef<'_>) -> Option<Ticks> {
    match value {
        ValueRef::DateTime(ticks) => Some(ticks),
        _ => None,
    }
}

pub(super) fn store_date(value: DateParts, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    let mut text = KeyBuffer::new();
    let written = <Plain as Encode<kind::Date>>::write(value, Escape::part(true), &mut text);
    written.map_err(|problem| PropertyProblem {
        expected: "a date of the years 0001 to 9999".into(),
        found: problem.to_string(),
    })?;
    store_text(text.as_str(), name, properties)
}

pub(super) fn load_date(value: ValueRef<'_>) -> Option<DateParts> {
    match value {
        ValueRef::String(text) => read_date(text),
        _ => None,
    }
}

/// Reads the text of a date, or the JSON that crates for time write: the text in quotes, or the year and the day of the
/// year.
fn read_date(text: &str) -> Option<DateParts> {
    let within = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(numbers) = within('[', ']') {
        let (year, day) = numbers.split_once(',')?;
        let (year, day): (u64, u64) = (year.trim().parse().ok()?, day.trim().parse().ok()?);
        if !(1..=9999).contains(&year) || !(1..=366).contains(&day) {
            return None;
        }
        let (of, month, day) = civil_from_days(days_from_civil(year, 1, 1) + day - 1);
        let date = DateParts { year: of.try_into().ok()?, month: month.try_into().ok()?, day: day.try_into().ok()? };
        return Some(date).filter(|_| of == year);
    }
    <Plain as Decode<kind::Date>>::read(within('"', '"').unwrap_or(text), Escape::part(true)).ok()
}

pub(super) fn store_bool(value: bool, name: &str, properties: &mut Properties) -> Result<(), PropertyProblem> {
    properties.push(name, ValueRef::Boolean(value));
    Ok(())
}

pub(super) fn load_bool(value: ValueRef<'_>) -> Option<bool> {
    match value {
        ValueRef::Boolean(value) => Some(value),
        _ => None,
    }
}
