//! Integers, written with as many digits as the type needs or as `pad` sets.
//!
//! A negative number is written as `-` and the nine's complement of each digit of `!v`. It therefore sorts before zero
//! and before greater negative numbers: −1 of an `i32` is `-9999999999`, and the least `i32` is `-7852516352`.

use std::{cmp::Ordering, fmt::Display};

use table_store::error::KeyProblem;

use super::{Decode, Encode, Escape, KeyBuffer, Ordered, Pad, Plain, Reverse, kind};
use crate::sealed::Sealed;

/// A primitive integer.
pub trait IntegerType: Copy + Display + Sealed + 'static {
    /// Name of the type.
    const NAME: &'static str;
    /// Number of digits of the greatest value.
    const DIGITS: usize;
    /// Seven, an example.
    const SEVEN: Self;

    /// Returns whether the value is negative, and the number to write: the value itself, or `!v` if it is negative.
    fn split(self) -> (bool, u128);

    /// Reverses [`split`](Self::split). Returns `None` if the type cannot hold the value.
    fn join(negative: bool, number: u128) -> Option<Self>;

    /// Does the same as [`join`](Self::join) for a number of 64 bits.
    fn join_short(negative: bool, number: u64) -> Option<Self>;

    /// Returns the mirrored value, for the reverse order. A signed value becomes `!v`, an unsigned one MAX − v, where
    /// MAX is the greatest value of the type that has at most `digits` digits. Returns `None` if the value is greater
    /// than that MAX.
    fn mirror(self, digits: usize) -> Option<Self>;
}

macro_rules! unsigned {
    ($($type:ident)*) => {$(
        impl IntegerType for $type {
            const NAME: &'static str = stringify!($type);
            const DIGITS: usize = Self::MAX.ilog10() as usize + 1;
            const SEVEN: Self = 7;

            #[inline]
            fn split(self) -> (bool, u128) {
                (false, self.into())
            }

            #[inline]
            fn join(negative: bool, number: u128) -> Option<Self> {
                if negative { None } else { Self::try_from(number).ok() }
            }

            #[inline]
            fn join_short(negative: bool, number: u64) -> Option<Self> {
                if negative { None } else { Self::try_from(number).ok() }
            }

            #[inline]
            fn mirror(self, digits: usize) -> Option<Self> {
                let max = if digits < Self::DIGITS { (10 as Self).pow(digits as u32) - 1 } else { Self::MAX };
                max.checked_sub(self)
            }
        }
    )*};
}

macro_rules! signed {
    ($($type:ident)*) => {$(
        impl IntegerType for $type {
            const NAME: &'static str = stringify!($type);
            const DIGITS: usize = Self::MAX.ilog10() as usize + 1;
            const SEVEN: Self = 7;

            #[inline]
            fn split(self) -> (bool, u128) {
                let number = if self < 0 { !self } else { self };
                (self < 0, number.unsigned_abs().into())
            }

            #[inline]
            fn join(negative: bool, number: u128) -> Option<Self> {
                let number = Self::try_from(number).ok()?;
                Some(if negative { !number } else { number })
            }

            #[inline]
            fn join_short(negative: bool, number: u64) -> Option<Self> {
                let number = Self::try_from(number).ok()?;
                Some(if negative { !number } else { number })
            }

            #[inline]
            fn mirror(self, _: usize) -> Option<Self> {
                Some(!self)
            }
        }
    )*};
}

#[allow(clippy::cast_possible_truncation, reason = "a number of digits")]
mod primitives {
    use super::IntegerType;

    unsigned!(u8 u16 u32 u64 u128);
    signed!(i8 i16 i32 i64 i128);
}

/// The two digits of every number below 100: digits are written two at a time.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n as usize] = [b'0' + n / 10, b'0' + n % 10];
        n += 1;
    }
    pairs
};

/// Fills `digits` with the last digits of `number`, and returns the rest of the number.
#[inline]
fn fill(digits: &mut [u8], mut number: u64) -> u64 {
    let mut chunks = digits.rchunks_exact_mut(2);
    for pair in &mut chunks {
        #[allow(clippy::cast_possible_truncation, reason = "below 100")]
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if let [first] = chunks.into_remainder() {
        #[allow(clippy::cast_possible_truncation, reason = "below 10")]
        let digit = (number % 10) as u8;
        *first = b'0' + digit;
        number /= 10;
    }
    number
}

/// Writes `number` with `N` digits. `N` is at most 20.
#[inline]
pub(super) fn write_u64<const N: usize>(number: u64, out: &mut KeyBuffer) {
    let mut digits = [b'0'; N];
    fill(&mut digits, number);
    out.push_ascii(&digits);
}

/// The powers of ten that fit 64 bits, except the greatest.
const TENS: [u64; 19] = {
    let mut tens = [1; 19];
    let mut n = 1;
    while n < tens.len() {
        tens[n] = tens[n - 1] * 10;
        n += 1;
    }
    tens
};

const WIDEST: usize = 39;
/// Greatest number of digits of a number of 64 bits. Not all numbers of so many digits fit 64 bits.
const WIDEST_SHORT: usize = 20;
/// 10^18, the base for writing a `u128`. A number below 10^39 has three digits in this base, which are written as 3, 18
/// and 18 decimal digits.
const BASE: u128 = 1_000_000_000_000_000_000;

/// Writes a number with `width` digits, or the nine's complement of each digit if `complement` is true. Returns `false`
/// if the number does not fit.
#[inline]
pub(super) fn write_digits(number: u128, width: usize, complement: bool, out: &mut KeyBuffer) -> bool {
    let mut digits = [b'0'; WIDEST];
    let from = WIDEST - width.min(WIDEST);
    // Nearly all numbers fit 64 bits.
    let rest = if let Ok(number) = u64::try_from(number) {
        fill(&mut digits[from.max(WIDEST - 20)..], number)
    } else {
        let (high, low) = (number / BASE, number % BASE);
        #[allow(clippy::cast_possible_truncation, reason = "below 10^18, or the last digits of a number over 10^36")]
        let limbs = [(high / BASE) as u64, (high % BASE) as u64, low as u64];
        fill(&mut digits[..3], limbs[0]);
        fill(&mut digits[3..21], limbs[1]);
        fill(&mut digits[21..], limbs[2]);
        u64::from(digits[..from].iter().any(|digit| *digit != b'0'))
    };
    if complement {
        for digit in &mut digits {
            *digit = b'0' + b'9' - *digit;
        }
    }
    // `pad` may be wider than any integer.
    for _ in WIDEST..width {
        out.push_byte(if complement { b'9' } else { b'0' });
    }
    out.push_ascii(&digits[from..]);
    rest == 0
}

#[inline]
pub(super) fn write<T: IntegerType>(value: T, width: usize, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
    let (negative, number) = value.split();
    if negative {
        out.push_byte(b'-');
    }
    if write_digits(number, width, negative, out) { Ok(()) } else { Err(overflow(value, width)) }
}

#[cold]
fn overflow<T: IntegerType>(value: T, digits: usize) -> KeyProblem {
    KeyProblem::Digits { value: value.to_string(), digits }
}

/// Reads a number of at most 20 digits. Returns `None` if one of the bytes is not a digit, or the number does not fit.
#[inline]
pub(super) fn read_u64(digits: &[u8]) -> Option<u64> {
    let (eights, rest) = digits.as_chunks();
    let high = eights.iter().try_fold(0_u64, |high, digits| Some(high * 100_000_000 + read_eight(*digits)?))?;
    if rest.is_empty() {
        return Some(high);
    }
    let low = match digits.last_chunk() {
        // The last eight digits are read at once, and those that were read before are dropped.
        Some(last) => read_eight(*last)? % TENS[rest.len()],
        None => rest.iter().try_fold(0, |number, digit| {
            let digit = digit.wrapping_sub(b'0');
            (digit < 10).then(|| number * 10 + u64::from(digit))
        })?,
    };
    high.checked_mul(TENS[rest.len()])?.checked_add(low)
}

/// Reads a number of eight digits. They are the bytes of one word, and three steps combine neighbours: to pairs of
/// digits, to fours, and to all eight.
#[inline]
fn read_eight(digits: [u8; 8]) -> Option<u64> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(digits);
    // Every byte must be 0x30 to 0x39: its high half is 3, and remains 3 after adding 6. The addition carries nothing
    // into the next byte, because the high halves are checked first.
    let high = |word: u64| word & (0xF0 * EACH);
    if high(word) != 0x30 * EACH || high(word + 6 * EACH) != 0x30 * EACH {
        return None;
    }
    let pairs = (word & (0x0F * EACH)).wrapping_mul(1 + (10 << 8)) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(1 + (100 << 16)) >> 16;
    Some((fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(1 + (10_000 << 32)) >> 32)
}

#[inline]
pub(super) fn read<T: IntegerType>(text: &str, width: usize) -> Result<T, KeyProblem> {
    let value = match text.as_bytes() {
        [b'-', digits @ ..] => (digits.len() == width).then(|| read_wide(true, digits)).flatten(),
        digits if digits.len() != width => None,
        // Nearly all numbers fit 64 bits.
        digits if width < WIDEST_SHORT => read_u64(digits).and_then(|number| T::join_short(false, number)),
        digits
            if width == WIDEST_SHORT
                && let Some(number) = read_u64(digits) =>
        {
            T::join_short(false, number)
        }
        digits => read_wide(false, digits),
    };
    match value {
        Some(value) => Ok(value),
        None => Err(unreadable::<T>(text, width)),
    }
}

/// Reads a number of any width, or a negative one, in chunks that fit 64 bits.
fn read_wide<T: IntegerType>(negative: bool, digits: &[u8]) -> Option<T> {
    let number = digits.chunks(TENS.len() - 1).try_fold(0_u128, |number, digits| {
        let low = read_u64(digits)?;
        let base = TENS[digits.len()];
        let low = if negative { base - 1 - low } else { low };
        number.checked_mul(base.into())?.checked_add(low.into())
    });
    T::join(negative, number?)
}

#[cold]
fn unreadable<T: IntegerType>(text: &str, width: usize) -> KeyProblem {
    KeyProblem::malformed(format!("{width} digits of a `{}`", T::NAME), text)
}

pub(super) fn write_mirrored<T: IntegerType>(value: T, width: usize, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
    // The error must name the value that was given, not its mirror.
    let mirrored = value.mirror(width).ok_or_else(|| overflow(value, width))?;
    write(mirrored, width, out).map_err(|_| overflow(value, width))
}

/// Returns the side on which a value has more digits than `width`. A mirrored encoding can use it too, because a value
/// fits `width` digits if and only if its mirror does.
fn outside<T: IntegerType>(value: T, width: usize) -> Option<Ordering> {
    let (negative, number) = value.split();
    let digits = number.checked_ilog10().map_or(1, |log| log as usize + 1);
    (digits > width).then_some(if negative { Ordering::Less } else { Ordering::Greater })
}

pub(super) fn read_mirrored<T: IntegerType>(text: &str, width: usize) -> Result<T, KeyProblem> {
    let mirrored: T = read(text, width)?;
    mirrored.mirror(width).ok_or_else(|| KeyProblem::malformed(format!("{width} digits"), text))
}

macro_rules! encodings {
    ($($encoding:ty, [$($n:tt)*], $width:expr, $write:ident, $read:ident, $descending:literal;)*) => {$(
        impl<T: IntegerType, $($n)*> Encode<kind::Integer<T>> for $encoding {
            const SELF_DELIMITING: bool = true;

            #[inline]
            fn write(value: T, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
                $write(value, $width, out)
            }
        }

        impl<T: IntegerType, $($n)*> Decode<kind::Integer<T>> for $encoding {
            #[inline]
            fn read<'a>(text: &'a str, _: Escape) -> Result<T, KeyProblem> {
                $read(text, $width)
            }
        }

        impl<T: IntegerType, $($n)*> Ordered<kind::Integer<T>> for $encoding {
            const DESCENDING: bool = $descending;

            fn outside(value: T) -> Option<Ordering> {
                outside(value, $width)
            }
        }
    )*};
}

encodings! {
    Plain, [], T::DIGITS, write, read, false;
    Pad<N>, [const N: usize], N, write, read, false;
    Reverse<Plain>, [], T::DIGITS, write_mirrored, read_mirrored, true;
    Reverse<Pad<N>>, [const N: usize], N, write_mirrored, read_mirrored, true;
}

impl Encode<kind::Bool> for Plain {
    const SELF_DELIMITING: bool = true;

    #[inline]
    fn write(value: bool, _: Escape, out: &mut KeyBuffer) -> Result<(), KeyProblem> {
        out.push_byte(b'0' + u8::from(value));
        Ok(())
    }
}

impl Decode<kind::Bool> for Plain {
    fn read<'a>(text: &'a str, _: Escape) -> Result<bool, KeyProblem> {
        match text {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(KeyProblem::malformed("`0` or `1`", other)),
        }
    }
}

impl Ordered<kind::Bool> for Plain {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    depth::laws! {
        20_000;

        fn numbers_are_read_as_std_reads_them(number in any::<u64>(), width in 0..21_usize) {
            let number = u128::from(number) << (width / 20);
            let digits = format!("{:0width$}", number % 10_u128.pow(u32::try_from(width).unwrap_or_default()));
            prop_assert_eq!(read_u64(digits.as_bytes()), digits.parse().ok());
        }

        fn a_byte_that_is_not_a_digit_is_refused(
            mut digits in prop::collection::vec(b'0'..=b'9', 1..20),
            at in any::<prop::sample::Index>(),
            other in any::<u8>(),
        ) {
            let at = at.index(digits.len());
            digits[at] = other;
            prop_assert_eq!(read_u64(&digits).is_some(), other.is_ascii_digit());
        }
    }
}
