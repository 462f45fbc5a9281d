//! The encoding of properties: for each one, its name, a byte for its type, and its value.
//!
//! | part | bytes |
//! |---|---|
//! | name | its length as a varint, and the text |
//! | type | 0 to 8: text, bytes, boolean, Int32, Int64, double, GUID, time, unreadable value |
//! | text, bytes, unreadable value | the length as a varint, and the bytes |
//! | boolean | 0 or 1 |
//! | Int32, Int64 | a varint of the number in zigzag form, in which small numbers of either sign are short |
//! | double, time (ticks) | eight bytes, the lowest first |
//! | GUID | its 16 bytes |
//!
//! A varint has seven bits in each byte, the lowest first; the highest bit is set in each byte but the last.
//!
//! A scan spends much of its time here. A property that is not asked for is therefore skipped, not read.

use ascii::AsAsciiStr as _;

use super::name::PropertyName;
use crate::{Guid, PropertyType, Ticks, ValueRef};

/// Appends a property.
#[inline]
pub(super) fn push(bytes: &mut Vec<u8>, name: PropertyName<'_>, value: ValueRef<'_>) {
    push_varint(bytes, name.length() as u64);
    bytes.extend_from_slice(name.outer.as_bytes());
    if !name.outer.is_empty() && !name.inner.is_empty() {
        bytes.push(b'_');
    }
    bytes.extend_from_slice(name.inner.as_bytes());
    match value {
        ValueRef::String(text) => push_tagged(bytes, 0, text.as_bytes()),
        ValueRef::Binary(value) => push_tagged(bytes, 1, value),
        ValueRef::Boolean(value) => bytes.extend([2, value.into()]),
        ValueRef::Int32(value) => push_zigzag(bytes, 3, value.into()),
        ValueRef::Int64(value) => push_zigzag(bytes, 4, value),
        ValueRef::Double(value) => push_array(bytes, 5, value.to_le_bytes()),
        ValueRef::Guid(value) => push_array(bytes, 6, *value.as_bytes()),
        ValueRef::DateTime(value) => push_array(bytes, 7, value.get().to_le_bytes()),
        ValueRef::Unreadable(found) => push_tagged(bytes, 8, found.as_bytes()),
    }
}

#[inline]
fn push_tagged(bytes: &mut Vec<u8>, tag: u8, value: &[u8]) {
    bytes.push(tag);
    push_slice(bytes, value);
}

#[inline]
fn push_slice(bytes: &mut Vec<u8>, slice: &[u8]) {
    push_varint(bytes, slice.len() as u64);
    bytes.extend_from_slice(slice);
}

#[inline]
fn push_zigzag(bytes: &mut Vec<u8>, tag: u8, value: i64) {
    bytes.push(tag);
    push_varint(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

#[inline]
fn push_array<const N: usize>(bytes: &mut Vec<u8>, tag: u8, value: [u8; N]) {
    bytes.push(tag);
    bytes.extend(value);
}

#[inline]
fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Returns the first property and the bytes after it, or `None` if the property is damaged.
#[inline]
pub(super) fn take(bytes: &[u8]) -> Option<((&str, ValueRef<'_>), &[u8])> {
    let mut bytes = EncodedBytes(bytes);
    let name = bytes.text()?;
    let value = bytes.value()?;
    Some(((name, value), bytes.0))
}

/// Returns the value of the property `name`, leaves in `bytes` the properties after it, and adds the number of its bytes
/// to `found`. Returns `Some(None)` and changes nothing if there is no such property. Returns `None` if the bytes that
/// were read are damaged.
#[cfg_attr(not(debug_assertions), inline(always))]
#[allow(clippy::inline_always, reason = "a value is returned through memory, and copied from there")]
#[allow(clippy::option_option, reason = "a value that may be missing, if nothing is damaged")]
pub(super) fn find<'a>(
    bytes: &mut &'a [u8],
    name: PropertyName<'_>,
    found: &mut usize,
) -> Option<Option<ValueRef<'a>>> {
    let mut rest = EncodedBytes(bytes);
    while !rest.0.is_empty() {
        let from = rest.0.len();
        if name.is(rest.slice()?) {
            let value = rest.value()?;
            *found += from - rest.0.len();
            *bytes = rest.0;
            return Some(Some(value));
        }
        rest.skip_value()?;
    }
    Some(None)
}

/// Returns the value of the first property if its name is `name` and its type is `ty`, and leaves in `bytes` the
/// properties after it. Returns `None` and changes nothing if it has another name, a long one, another type, or is
/// damaged.
#[cfg_attr(not(debug_assertions), inline(always))]
#[allow(clippy::inline_always, reason = "then the name and the type are constants, and the value stays in registers")]
pub(super) fn next_if<'a>(bytes: &mut &'a [u8], name: PropertyName<'_>, ty: PropertyType) -> Option<ValueRef<'a>> {
    let (length, rest) = bytes.split_first()?;
    // Names below 128 bytes have a length of one byte.
    if name.length() >= 0x80 || usize::from(*length) != name.length() {
        return None;
    }
    let (found, rest) = rest.split_at_checked(name.length())?;
    if !name.is(found) {
        return None;
    }
    let mut rest = EncodedBytes(rest);
    let tag = tag(ty);
    let value = if rest.byte()? == tag { rest.tagged(tag)? } else { return None };
    *bytes = rest.0;
    Some(value)
}

/// Returns the byte for the type of a value.
#[cfg_attr(not(debug_assertions), inline(always))]
#[allow(clippy::inline_always, reason = "as of `next_if`")]
const fn tag(ty: PropertyType) -> u8 {
    match ty {
        PropertyType::String
        | PropertyType::Date
        | PropertyType::UInt64
        | PropertyType::UInt128
        | PropertyType::Int128
        | PropertyType::Decimal
        | PropertyType::Address
        | PropertyType::Json
        | PropertyType::LargeString
        | PropertyType::LargeJson
        | PropertyType::Variants { .. } => 0,
        PropertyType::Binary | PropertyType::LargeBinary => 1,
        PropertyType::Boolean => 2,
        PropertyType::Int32 { .. } => 3,
        PropertyType::Int64 { .. } | PropertyType::Scaled { .. } | PropertyType::Ticks => 4,
        PropertyType::Double | PropertyType::Single => 5,
        PropertyType::Guid => 6,
        PropertyType::DateTime => 7,
    }
}

/// Checks whether there is a property with one of these names. Reads all properties up to it. Returns `None` if they are
/// damaged.
#[inline]
pub(super) fn has_any(bytes: &[u8], names: &[&str]) -> Option<bool> {
    let mut bytes = EncodedBytes(bytes);
    while !bytes.0.is_empty() {
        let name = bytes.slice()?;
        if names.iter().any(|wanted| PropertyName::from(*wanted).is(name)) {
            return Some(true);
        }
        bytes.skip_value()?;
    }
    Some(false)
}

/// Skips all properties. Returns `None` if the last one does not end where the bytes end.
#[inline]
pub(super) fn skip_all(bytes: &[u8]) -> Option<()> {
    let mut bytes = EncodedBytes(bytes);
    while !bytes.0.is_empty() {
        bytes.slice()?;
        bytes.skip_value()?;
    }
    Some(())
}

/// Checks whether the bytes are properties, one after the other. The result is the same as that of calling [`take`]
/// until the end, but no property is constructed.
pub(super) fn check(bytes: &[u8]) -> bool {
    let mut bytes = EncodedBytes(bytes);
    while !bytes.0.is_empty() {
        if bytes.check().is_none() {
            return false;
        }
    }
    true
}

struct EncodedBytes<'a>(&'a [u8]);

impl<'a> EncodedBytes<'a> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn value(&mut self) -> Option<ValueRef<'a>> {
        let tag = self.byte()?;
        self.tagged(tag)
    }

    /// Reads the value after the byte for its type.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn tagged(&mut self, tag: u8) -> Option<ValueRef<'a>> {
        Some(match tag {
            0 => ValueRef::String(self.text()?),
            1 => ValueRef::Binary(self.slice()?),
            2 => ValueRef::Boolean(self.boolean()?),
            3 => ValueRef::Int32(i32::try_from(self.zigzag()?).ok()?),
            4 => ValueRef::Int64(self.zigzag()?),
            5 => ValueRef::Double(f64::from_le_bytes(self.array()?)),
            6 => ValueRef::Guid(Guid::from_bytes(self.array()?)),
            7 => ValueRef::DateTime(Ticks::new(u64::from_le_bytes(self.array()?))?),
            8 => ValueRef::Unreadable(self.text()?),
            _ => return None,
        })
    }

    /// Skips a value. Damage is detected in the length of the value, but not in its contents.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn skip_value(&mut self) -> Option<()> {
        let length = match self.byte()? {
            0 | 1 | 8 => usize::try_from(self.varint()?).ok()?,
            2 => 1,
            3 | 4 => {
                self.varint()?;
                0
            }
            5 | 7 => 8,
            6 => 16,
            _ => return None,
        };
        self.0 = self.0.get(length..)?;
        Some(())
    }

    #[inline]
    fn check(&mut self) -> Option<()> {
        let all = self.0;
        let name = self.slice()?;
        let value = if let [0, rest @ ..] = self.0 {
            self.0 = rest;
            self.slice()?
        } else {
            self.value()?;
            &[]
        };
        // Most properties are entirely ASCII, which a single check shows.
        let whole = &all[..all.len() - self.0.len()];
        let sound = whole.is_ascii() || (text(name).is_some() && text(value).is_some());
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

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn varint(&mut self) -> Option<u64> {
        let (number, rest) = match *self.0 {
            [first @ ..0x80, ref rest @ ..] => (u64::from(first), rest),
            [first, second @ ..0x80, ref rest @ ..] => (u64::from(first & 0x7F) | u64::from(second) << 7, rest),
            // The bytes are passed by value, so that they are kept in registers.
            _ => long_varint(self.0)?,
        };
        self.0 = rest;
        Some(number)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (slice, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(slice)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[allow(clippy::inline_always, reason = "as of `find`")]
    fn text(&mut self) -> Option<&'a str> {
        text(self.slice()?)
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for at in 0..10 {
        let byte = *bytes.get(at)?;
        number |= u64::from(byte & 0x7F) << (7 * at);
        if byte < 0x80 {
            // The tenth byte holds only one bit.
            return (at < 9 || byte < 2).then_some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// Returns the text of these bytes; `None` if they are not UTF-8. Most text is ASCII, and the check for ASCII takes far
/// less time than that for UTF-8.
#[inline]
pub fn text(bytes: &[u8]) -> Option<&str> {
    match bytes.as_ascii_str() {
        Ok(text) => Some(text.as_str()),
        Err(_) => std::str::from_utf8(bytes).ok(),
    }
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

    fn type_of(value: ValueRef<'_>) -> PropertyType {
        match value {
            ValueRef::String(_) | ValueRef::Unreadable(_) => PropertyType::String,
            ValueRef::Binary(_) => PropertyType::Binary,
            ValueRef::Boolean(_) => PropertyType::Boolean,
            ValueRef::Int32(_) => PropertyType::INT32,
            ValueRef::Int64(_) => PropertyType::INT64,
            ValueRef::Double(_) => PropertyType::Double,
            ValueRef::Guid(_) => PropertyType::Guid,
            ValueRef::DateTime(_) => PropertyType::DateTime,
        }
    }

    depth::laws! {
        4096;

        fn a_name_in_two_pieces_is_the_whole_name(outer in "[a_]{0,3}", inner in "[a_]{0,3}", other in "[a_]{0,7}") {
            let name = PropertyName { outer: &outer, inner: &inner };
            let whole = name.to_string();
            prop_assert_eq!(name.length(), whole.len());
            prop_assert_eq!(name.is(other.as_bytes()), other == whole);
            let (mut in_pieces, mut as_whole) = (Vec::new(), Vec::new());
            push(&mut in_pieces, name, ValueRef::Int32(1));
            push(&mut as_whole, whole.as_str().into(), ValueRef::Int32(1));
            prop_assert_eq!(&in_pieces, &as_whole);
            prop_assert_eq!(find(&mut &as_whole[..], name, &mut 0), Some(Some(ValueRef::Int32(1))));
            prop_assert_eq!(next_if(&mut &as_whole[..], name, PropertyType::INT32), Some(ValueRef::Int32(1)));
        }

        fn a_property_reads_back(name in any::<String>(), value in value(), more in any::<Vec<u8>>()) {
            let property = (name.as_str(), value.as_ref());
            let ty = type_of(property.1);
            let mut bytes = Vec::new();
            push(&mut bytes, name.as_str().into(), property.1);
            let length = bytes.len();
            bytes.extend(&more);
            prop_assert_eq!(take(&bytes), Some((property, &more[..])));
            let mut rest = &bytes[..];
            let mut found = 0;
            prop_assert_eq!(find(&mut rest, name.as_str().into(), &mut found), Some(Some(property.1)));
            prop_assert_eq!((rest, found), (&more[..], length));
            prop_assert_eq!(find(&mut &bytes[..length], "another".into(), &mut found), Some(None));
            prop_assert_eq!(found, length);
            let mut rest = &bytes[..];
            prop_assert_eq!(next_if(&mut rest, "another".into(), ty), None);
            let other = if ty == PropertyType::Guid { PropertyType::Boolean } else { PropertyType::Guid };
            prop_assert_eq!(next_if(&mut rest, name.as_str().into(), other), None);
            let next = next_if(&mut rest, name.as_str().into(), ty);
            prop_assert_eq!(next, (name.len() < 0x80).then_some(property.1));
            prop_assert_eq!(rest.len(), if next.is_some() { more.len() } else { bytes.len() });
            prop_assert_eq!(has_any(&bytes[..length], &["another", &name]), Some(true));
            prop_assert_eq!(has_any(&bytes[..length], &["another"]), Some(false));
            prop_assert_eq!(skip_all(&bytes[..length]), Some(()));
            prop_assert!(check(&bytes[..length]));
            for end in 0..length {
                prop_assert_eq!(take(&bytes[..end]), None);
                prop_assert_eq!(check(&bytes[..end]), end == 0);
                prop_assert_eq!(find(&mut &bytes[..end], "another".into(), &mut 0), (end == 0).then_some(None));
                prop_assert_eq!(next_if(&mut &bytes[..end], name.as_str().into(), ty), None);
                prop_assert_eq!(has_any(&bytes[..end], &["another"]), (end == 0).then_some(false));
            }
        }

        fn damaged_bytes_are_refused_or_read_in_one_way(
            name in prop::collection::vec(any::<u8>(), 0..3),
            tail in prop::collection::vec(prop_oneof![Just(0xFF), Just(0x7F), 0_u8..9, any::<u8>()], 0..24),
        ) {
            let mut bytes = vec![u8::try_from(name.len()).unwrap_or_default()];
            bytes.extend(name);
            bytes.extend(tail);
            let mut rest = &bytes[..];
            while let Some(((name, value), after)) = take(rest) {
                // Only the length of a varint may differ from the one that is written.
                let mut same = Vec::new();
                push(&mut same, name.into(), value);
                prop_assert!(same.len() <= rest.len() - after.len());
                // The texts are compared, because NaN is not equal to itself.
                prop_assert_eq!(format!("{:?}", take(&same)), format!("{:?}", Some(((name, value), [0_u8; 0]))));
                rest = after;
            }
            prop_assert_eq!(check(&bytes), rest.is_empty());
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
            let mut bytes = Vec::new();
            push(&mut bytes, "".into(), value);
            assert_eq!(take(&bytes), Some((("", value), &[][..])));
        }
        assert_eq!(take(&[0, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]), None);
        assert_eq!(take(&[0, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]), None);
        // A time after the last one.
        assert_eq!(take(&[0, 7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    }

    /// Checks the bytes of the format, because files outlive a release.
    #[test]
    fn the_bytes_of_properties_do_not_change_between_releases() {
        let properties = [
            ("A", ValueRef::String("x")),
            ("B", ValueRef::Binary(&[1, 2])),
            ("C", ValueRef::Boolean(true)),
            ("D", ValueRef::Int32(-1)),
            ("E", ValueRef::Int64(64)),
            ("F", ValueRef::Double(1.0)),
            ("G", ValueRef::Guid(Guid::from_bytes([7; 16]))),
            ("H", ValueRef::DateTime(Ticks::UNIX_EPOCH)),
        ];
        let mut bytes = Vec::new();
        for (name, value) in properties {
            push(&mut bytes, name.into(), value);
        }
        let expected = [
            &[1, b'A', 0, 1, b'x'][..],
            &[1, b'B', 1, 2, 1, 2],
            &[1, b'C', 2, 1],
            &[1, b'D', 3, 1],
            &[1, b'E', 4, 0x80, 0x01],
            &[1, b'F', 5, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
            &[1, b'G', 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
            &[1, b'H', 7, 0x00, 0x80, 0xB5, 0xF7, 0xF5, 0x7F, 0x9F, 0x08],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
