//! Dates of the calendar.

use std::cmp::Ordering;

use table_store::error::KeyProblem;

use super::{Decode, Encode, Escape, KeyBuffer, Ordered, Plain, Reverse, integer::write_u64, kind};

/// A date, in the form that crates for time return. Writing it fails if its year is outside 0001 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say themselves")]
pub struct DateParts {
    pub year: i32,
    pub month: u8,
    pub day: u8,
}

const EXPECTED: &str = "a date such as 2010-05-28";
const NINES: [u64; 3] = [9999, 99, 99];

fn parts(date: DateParts) -> Result<[u64; 3], KeyProblem> {
    let DateParts { year, month, day } = date;
    match u64::try_from(year) {
        Ok(year @ 1..=9999) => Ok([year, month.into(), day.into()]),
        _ => Err(KeyProblem::Date { year, month, day }),
    }
}

fn outside(date: DateParts) -> Option<Ordering> {
    parts(date).is_err().then(|| date.year.cmp(&1))
}

fn write([year, month, day]: [u64; 3], out: &mut KeyBuffer) {
    write_u64::<4>(year, out);
    out.push_byte(b'-');
    write_u64::<2>(month, out);
    out.push_byte(b'-');
    write_u64::<2>(day, out);
}

fn read(text: &str) -> Option<[u64; 3]> {
    let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
    };
    let delimiters = bytes[4] == b'-' && bytes[7] == b'-';
    let parts = [number(&bytes[..4])?, number(&bytes[5..7])?, number(&bytes[8..])?];
    delimiters.then_some(parts)
}

fn date(text: &str, [year, month, day]: [u64; 3]) -> Result<DateParts, KeyProblem> {
    // The type to which the date is converted checks whether the month has that day.
    match (i32::try_from(year), u8::try_from(month), u8::try_from(day)) {
        (Ok(year @ 1..), Ok(month @ 1..=12), Ok(day @ 1..=31)) => Ok(DateParts { year, month, day }),
        _ => Err(KeyProblem::malformed(EXPECTED, text)),
    }
}

/// Returns the nine's complement of each digit. The function is its own inverse.
fn complement(parts: [u64; 3]) -> [u64; 3] {
    let mut complement = NINES;
    complement.iter_mut().zip(parts).for_each(|(nines, part)| *nines -= part);
    complement
}

impl Encode<kind::Date> for Plain {
    const SELF_DELIMITING: bool = true;

    fn write(value: DateParts, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        write(parts(value)?, out);
        Ok(())
    }
}

impl Decode<kind::Date> for Plain {
    fn read<'a>(text: &'a str, _: Escape) -> Result<DateParts, KeyProblem> {
        date(text, read(text).ok_or_else(|| KeyProblem::malformed(EXPECTED, text))?)
    }
}

impl Ordered<kind::Date> for Plain {
    fn outside(value: DateParts) -> Option<Ordering> {
        outside(value)
    }
}

impl Encode<kind::Date> for Reverse<Plain> {
    const SELF_DELIMITING: bool = true;

    fn write(value: DateParts, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        write(complement(parts(value)?), out);
        Ok(())
    }
}

impl Decode<kind::Date> for Reverse<Plain> {
    fn read<'a>(text: &'a str, _: Escape) -> Result<DateParts, KeyProblem> {
        date(text, complement(read(text).ok_or_else(|| KeyProblem::malformed(EXPECTED, text))?))
    }
}

impl Ordered<kind::Date> for Reverse<Plain> {
    const DESCENDING: bool = true;

    fn outside(value: DateParts) -> Option<Ordering> {
        outside(value)
    }
}
