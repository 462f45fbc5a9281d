//! Reader of encoded properties: a hand-written equivalent of `postcard::take_from_bytes` for `(&str, ValueRef)`.
//!
//! A scan spends much of its time here. A property that is not asked for is therefore skipped, not read.

use crate::{Guid, Ticks, ValueRef};

/// Returns the first property and the bytes after it, or `None` if the property is damaged.
#[inline]
pub(super) fn take(bytes: &[u8]) -> Option<((&str, ValueRef<'_>), &[u8])> {
    let mut bytes = Bytes(bytes);
    let name = bytes.text()?;
    let value = bytes.value()?;
    Some(((name, value), bytes.0))
}

/// Returns the value of the property `name`, leaves in `bytes` the properties after it, and adds the number of its bytes
/// to `found`. Returns `Some(None)` and changes nothing if there is no such property. Returns `None` if the bytes that
/// were read are damaged.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a value is returned through memory, and copied from there")]
#[allow(clippy::option_option, reason = "a value that may be missing, if nothing is damaged")]
pub(super) fn find<'a>(bytes: &mut &'a [u8], name: &str, found: &mut usize) -> Option<Option<ValueRef<'a>>> {
    let mut rest = Bytes(bytes);
    while !rest.0.is_empty() {
        let from = rest.0.len();
        if is_same(rest.slice()?, name.as_bytes()) {
            let value = rest.value()?;
            *found += from - rest.0.len();
            *bytes = rest.0;
            return Some(Some(value));
        }
        rest.skip_value()?;
    }
    Some(None)
}

/// Returns true if the two names are the same. Names are short: calling the function that compares memory takes longer
/// than comparing them here.
#[inline]
fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left == right)
}

/// Skips all properties. Returns `None` if the last one does not end where the bytes end.
#[inline]
pub(super) fn skip_all(bytes: &[u8]) -> Option<()> {
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        bytes.slice()?;
        bytes.skip_value()?;
    }
    Some(())
}

/// Checks whether the bytes are properties, one after the other. The result is the same as that of calling [`take`]
/// until the end, but no property is constructed.
pub(super) fn check(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        if bytes.check().is_none() {
            return false;
        }
    }
    true
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn value(&mut self) -> Option<ValueRef<'a>> {
        Some(match self.byte()? {
            0 => ValueRef::String(self.text()?),
            1 => ValueRef::Binary(self.slice()?),
            2 => ValueRef::Boolean(self.boolean()?),
            3 => ValueRef::Int32(i32::try_from(self.zigzag()?).ok()?),
            4 => ValueRef::Int64(self.zigzag()?),
            5 => ValueRef::Double(f64::from_le_bytes(self.array()?)),
            6 => ValueRef::Guid(Guid::from_bytes(self.array()?)),
            7 => ValueRef::DateTime(Ticks::new(self.varint()?)?),
            8 => ValueRef::Unreadable(self.text()?),
            _ => return None,
        })
    }

    /// Skips a value. Damage is detected in the length of the value, but not in its contents.
    #[inline]
    fn skip_value(&mut self) -> Option<()> {
        match self.byte()? {
            0 | 1 | 8 => drop(self.slice()?),
            2 => drop(self.byte()?),
            3 | 4 | 7 => drop(self.varint()?),
            5 => drop(self.array::<8>()?),
            6 => drop(self.array::<16>()?),
            _ => return None,
        }
        Some(())
    }

    #[inline]
    fn check(&mut self) -> Option<()> {
        let all = self.0;
        let name = self.slice()?;
        let text = if let [0, rest @ ..] = self.0 {
            self.0 = rest;
            self.slice()?
        } else {
            self.value()?;
            &[]
        };
        // Most properties are entirely ASCII, which a single check shows.
        let whole = &all[..all.len() - self.0.len()];
        let sound = whole.is_ascii() || (is_text(name) && is_text(text));
        sound.then_some(())
    }

    #[inline]
    fn boolean(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        match *self.0 {
            [first @ ..0x80, ref rest @ ..] => {
                self.0 = rest;
                Some(u64::from(first))
            }
            [first, second @ ..0x80, ref rest @ ..] => {
                self.0 = rest;
                Some(u64::from(first & 0x7F) | u64::from(second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Option<u64> {
        let (bytes, mut number) = (self.0, 0);
        for at in 0..10 {
            let byte = *bytes.get(at)?;
            number |= u64::from(byte & 0x7F) << (7 * at);
            if byte < 0x80 {
                self.0 = &bytes[at + 1..];
                // The tenth byte holds only one bit.
                return (at < 9 || byte < 2).then_some(number);
            }
        }
        None
    }

    #[inline]
    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    #[inline]
    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    #[inline]
    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.slice()?).ok()
    }
}

#[inline]
fn is_text(bytes: &[u8]) -> bool {
    // Most text is ASCII, and the check for ASCII is faster than that for UTF-8.
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Value;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<String>().prop_map(Value::String),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Value::Binary),
            any::<bool>().prop_map(Value::Boolean),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            prop::num::f64::NORMAL.prop_map(Value::Double),
            any::<[u8; 16]>().prop_map(|bytes| Value::Guid(Guid::from_bytes(bytes))),
            (0..=Ticks::MAX.get()).prop_map(|ticks| Value::DateTime(Ticks::new(ticks).unwrap_or_default())),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn postcard_output_is_read(name in any::<String>(), value in value(), more in any::<Vec<u8>>()) {
            let property = (name.as_str(), value.as_ref());
            let mut bytes = postcard::to_allocvec(&property).expect("a property");
            let length = bytes.len();
            bytes.extend(&more);
            prop_assert_eq!(take(&bytes), Some((property, &more[..])));
            let mut rest = &bytes[..];
            let mut found = 0;
            prop_assert_eq!(find(&mut rest, &name, &mut found), Some(Some(property.1)));
            prop_assert_eq!((rest, found), (&more[..], length));
            prop_assert_eq!(find(&mut &bytes[..length], "another", &mut found), Some(None));
            prop_assert_eq!(found, length);
            prop_assert_eq!(skip_all(&bytes[..length]), Some(()));
            prop_assert!(check(&bytes[..length]));
            for end in 0..length {
                prop_assert_eq!(take(&bytes[..end]), None);
                prop_assert_eq!(check(&bytes[..end]), end == 0);
                prop_assert_eq!(find(&mut &bytes[..end], "another", &mut 0), (end == 0).then_some(None));
            }
        }

        #[test]
        fn properties_are_read_as_postcard_reads_them(
            name in prop::collection::vec(any::<u8>(), 0..3),
            tail in prop::collection::vec(prop_oneof![Just(0xFF), Just(0x7F), 0_u8..9, any::<u8>()], 0..24),
        ) {
            let mut bytes = vec![u8::try_from(name.len()).unwrap_or_default()];
            bytes.extend(name);
            bytes.extend(tail);
            let mut rest = &bytes[..];
            while let Some((_, after)) = take(rest) {
                rest = after;
            }
            prop_assert_eq!(check(&bytes), rest.is_empty());
            if let Some(taken) = take(&bytes) {
                let same = postcard::take_from_bytes::<(&str, ValueRef<'_>)>(&bytes).expect("what was read");
                // The texts are compared, because NaN is not equal to itself.
                prop_assert_eq!(format!("{taken:?}"), format!("{same:?}"));
            }
        }
    }

    #[test]
    fn the_least_and_the_greatest_numbers_are_read() {
        for value in [
            ValueRef::Int32(i32::MIN),
            ValueRef::Int32(i32::MAX),
            ValueRef::Int64(i64::MIN),
            ValueRef::Int64(i64::MAX),
            ValueRef::DateTime(Ticks::MAX),
        ] {
            let bytes = postcard::to_allocvec(&("", value)).expect("a property");
            assert_eq!(take(&bytes), Some((("", value), &[][..])));
        }
        assert_eq!(take(&[0, 7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]), None);
        assert_eq!(take(&[0, 7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]), None);
    }
}
