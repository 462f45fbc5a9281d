//! Decimal numbers, written as integers: without their point, which is before a fixed number of places.

use std::{cmp::Ordering, fmt, iter::successors};

use table_store::error::KeyProblem;

use super::{Decode, Encode, Escape, IntegerType, KeyBuffer, Ordered, Scale, kind};
use crate::sealed::sealed;

/// A decimal number, in the form that crates for decimals return: 1.50 has the mantissa 150 and the scale 2.
#[derive(Clone, Copy, Debug)]
pub struct DecimalParts {
    /// The number without its point.
    pub mantissa: i128,
    /// Number of places after the point.
    pub scale: u32,
}

/// Greatest number of places that a key part can have.
const MAX_PLACES: u32 = 28;
/// Number of digits that every `i128` of as many digits holds.
const HELD_DIGITS: usize = 38;

impl DecimalParts {
    /// Returns the number without its point, which is before so many places.
    pub(crate) fn unscaled(self, places: u32) -> Result<i128, KeyProblem> {
        let Self { mantissa, scale } = self;
        let unit = 10_i128.checked_pow(scale.abs_diff(places));
        if scale > places {
            let exact = unit.filter(|unit| mantissa % unit == 0).map(|unit| mantissa / unit);
            return exact.ok_or_else(|| KeyProblem::Places { value: self.to_string(), places });
        }
        let number = unit.and_then(|unit| mantissa.checked_mul(unit));
        number.ok_or_else(|| KeyProblem::Digits { value: self.to_string(), digits: HELD_DIGITS })
    }

    /// Reads a text such as `-1.50`, which has at most as many places as a key part can have.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let are_digits = places.bytes().all(|byte| byte.is_ascii_digit());
        let mantissa = format!("{whole}{places}").parse().ok().filter(|_| are_digits)?;
        let scale = places.len().try_into().ok().filter(|scale| *scale <= MAX_PLACES)?;
        Some(Self { mantissa, scale })
    }

    /// Returns the same number with all of its places, then without each zero at its end.
    pub(crate) fn shorter_forms(self) -> impl Iterator<Item = Self> {
        successors(Some(self), |Self { mantissa, scale }| {
            let scale = scale.checked_sub(1).filter(|_| mantissa % 10 == 0)?;
            Some(Self { mantissa: mantissa / 10, scale })
        })
    }
}

impl fmt::Display for DecimalParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = self.scale as usize;
        let digits = format!("{:0width$}", self.mantissa.unsigned_abs(), width = scale + 1);
        let (whole, places) = digits.split_at(digits.len() - scale);
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let point = if places.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{places}")
    }
}

/// A decimal number without its point: a signed integer with as many digits as the mantissa of a `rust_decimal::Decimal`
/// has at most.
#[derive(Clone, Copy)]
pub struct Unscaled(pub(super) i128);

sealed!([] Unscaled;);

impl fmt::Display for Unscaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl IntegerType for Unscaled {
    const NAME: &'static str = "decimal";
    const DIGITS: usize = 29;
    const SEVEN: Self = Self(7);

    fn split(self) -> (bool, u128) {
        self.0.split()
    }

    fn join(negative: bool, number: u128) -> Option<Self> {
        i128::join(negative, number).map(Self)
    }

    fn join_short(negative: bool, number: u64) -> Option<Self> {
        i128::join_short(negative, number).map(Self)
    }

    fn mirror(self, digits: usize) -> Option<Self> {
        self.0.mirror(digits).map(Self)
    }
}

impl<const PLACES: u32, Of: Encode<kind::Integer<Unscaled>>> Encode<kind::Decimal> for Scale<PLACES, Of> {
    const SELF_DELIMITING: bool = Of::SELF_DELIMITING;
    const LOSSY: bool = Of::LOSSY;

    fn write(value: DecimalParts, escape: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        let number = Unscaled(value.unscaled(PLACES)?);
        Of::write(number, escape, out).map_err(|problem| of_decimal(problem, value))
    }
}

/// Returns the problem with the value that was given instead of the integer that was written.
pub(super) fn of_decimal(problem: KeyProblem, value: DecimalParts) -> KeyProblem {
    match problem {
        KeyProblem::Digits { digits, .. } => KeyProblem::Digits { value: value.to_string(), digits },
        other => other,
    }
}

impl<const PLACES: u32, Of: Decode<kind::Integer<Unscaled>>> Decode<kind::Decimal> for Scale<PLACES, Of> {
    fn read<'a>(text: &'a str, escape: Escape) -> Result<DecimalParts, KeyProblem> {
        Of::read(text, escape).map(|Unscaled(mantissa)| DecimalParts { mantissa, scale: PLACES })
    }
}

impl<const PLACES: u32, Of: Ordered<kind::Integer<Unscaled>>> Ordered<kind::Decimal> for Scale<PLACES, Of> {
    const DESCENDING: bool = Of::DESCENDING;

    fn outside(value: DecimalParts) -> Option<Ordering> {
        match value.unscaled(PLACES) {
            Ok(number) => Of::outside(Unscaled(number)),
            Err(KeyProblem::Digits { .. }) => Some(value.mantissa.cmp(&0)),
            // Writing the bound reports the problem.
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_decimals_read_back() {
        for (mantissa, scale, text) in
            [(0, 0, "0"), (0, 2, "0.00"), (7, 0, "7"), (-5, 3, "-0.005"), (150, 2, "1.50"), (-1234, 1, "-123.4")]
        {
            assert_eq!(DecimalParts { mantissa, scale }.to_string(), text);
            let read = DecimalParts::parse(text).expect(text);
            assert_eq!((read.mantissa, read.scale), (mantissa, scale), "{text}");
        }
        assert!(DecimalParts::parse(&format!("0.{}", "0".repeat(29))).is_none());
        for other in ["", ".", "-", "1.-5", "1.+5", "1,5", "1.5.0", "x", "0x10"] {
            assert!(DecimalParts::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_number_is_exact_or_refused() {
        let unscaled = |text, places| DecimalParts::parse(text).expect(text).unscaled(places);
        assert_eq!(unscaled("1.5", 2), Ok(150));
        assert_eq!(unscaled("-1.500", 2), Ok(-150));
        assert_eq!(unscaled("0.000", 0), Ok(0));
        assert_eq!(unscaled("1.005", 2), Err(KeyProblem::Places { value: "1.005".to_owned(), places: 2 }));
        let greatest = "79228162514264337593543950335";
        assert_eq!(unscaled(greatest, 28), Err(KeyProblem::Digits { value: greatest.to_owned(), digits: 38 }));
    }
}
