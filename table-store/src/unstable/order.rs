//! The order of keys: by UTF-16 unit, as the service compares them.
//!
//! `str` compares by code point instead. The two orders differ only between a character above U+FFFF and one of U+E000
//! to U+FFFF: in UTF-16 the former is a surrogate pair (U+D800 to U+DFFF), which sorts first.

use std::{cmp::Ordering, ops::Bound};

use crate::unstable::limits::{KEY_UNITS, forbidden_in_keys, longer};

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Lower end.
    pub from: Bound<String>,
    /// Upper end.
    pub to: Bound<String>,
}

impl KeyRange {
    /// The range of all keys.
    pub const ALL: Self = Self { from: Bound::Unbounded, to: Bound::Unbounded };

    /// Checks whether a key is in the range, in the order of keys.
    #[inline]
    pub fn contains(&self, key: &str) -> bool {
        let is_before_upper = match &self.to {
            Bound::Included(to) => compare(key, to).is_le(),
            Bound::Excluded(to) => compare(key, to).is_lt(),
            Bound::Unbounded => true,
        };
        self.is_after_lower(key) && is_before_upper
    }

    /// Checks whether a key is not before the range.
    #[doc(hidden)]
    #[inline]
    pub fn is_after_lower(&self, key: &str) -> bool {
        match &self.from {
            Bound::Included(from) => compare(key, from).is_ge(),
            Bound::Excluded(from) => compare(key, from).is_gt(),
            Bound::Unbounded => true,
        }
    }

    /// Returns the keys that are in both ranges; `None` if there can be none.
    #[doc(hidden)]
    pub fn and(&self, other: &Self) -> Option<Self> {
        let narrower = |own: &Bound<String>, other: &Bound<String>, narrower: Ordering| {
            let (Some(one), Some(another)) = (key(own), key(other)) else {
                return if key(own).is_none() { other.clone() } else { own.clone() };
            };
            match compare(one, another) {
                Ordering::Equal if matches!(own, Bound::Excluded(_)) => own.clone(),
                order if order == narrower => own.clone(),
                _ => other.clone(),
            }
        };
        let from = narrower(&self.from, &other.from, Ordering::Greater);
        let to = narrower(&self.to, &other.to, Ordering::Less);
        let is_empty = match (key(&from), key(&to)) {
            (Some(first), Some(last)) => match compare(first, last) {
                Ordering::Less => false,
                Ordering::Equal => !matches!((&from, &to), (Bound::Included(_), Bound::Included(_))),
                Ordering::Greater => true,
            },
            _ => false,
        };
        (!is_empty).then_some(Self { from, to })
    }
}

fn key(bound: &Bound<String>) -> Option<&str> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Compares two keys.
#[inline]
pub fn compare(left: &str, right: &str) -> Ordering {
    // UTF-8 bytes compare as code points do. Only the lead bytes of U+E000 to U+FFFF must rank above those of the
    // characters above U+FFFF.
    let rank = |byte: &u8| match byte {
        0xEE => 0xFE,
        0xEF => 0xFF,
        byte => *byte,
    };
    // Most keys are ASCII. Then the first byte that differs is none of these on both sides.
    if left.is_ascii() || right.is_ascii() {
        return left.cmp(right);
    }
    left.bytes().map(|byte| rank(&byte)).cmp(right.bytes().map(|byte| rank(&byte)))
}

/// Returns the first key after all keys that begin with `prefix`, or `None` if there is no such key, as for the empty
/// prefix.
///
/// The result is the prefix with its last character replaced by the next character that keys may hold; a last character
/// that has no next one is dropped first. Appending a "last" character to the prefix would not work, because a key can
/// continue after any character.
pub fn successor(prefix: &str) -> Option<String> {
    let mut prefix = prefix.to_owned();
    while let Some(last) = prefix.pop() {
        if let Some(next) = next_character(last) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}

/// Returns the next character, in the order of keys, that keys may hold.
fn next_character(character: char) -> Option<char> {
    let mut character = character;
    loop {
        character = match character {
            '\u{D7FF}' => '\u{10000}',
            '\u{10FFFF}' => '\u{E000}',
            '\u{FFFF}' => return None,
            other => char::from_u32(u32::from(other) + 1)?,
        };
        if !forbidden_in_keys(character) {
            return Some(character);
        }
    }
}

/// Returns the range of the keys that begin with `prefix`.
pub fn prefixed(prefix: &str) -> KeyRange {
    if prefix.is_empty() {
        return KeyRange::ALL;
    }
    let to = match successor(prefix) {
        // The successor of U+D7FF is one unit longer. If that makes it too long, the prefix already has the maximum
        // length of a key, so no other key begins with it.
        Some(next) if longer(&next, KEY_UNITS) => Bound::Included(prefix.to_owned()),
        Some(next) => Bound::Excluded(next),
        None => Bound::Unbounded,
    };
    KeyRange { from: Bound::Included(prefix.to_owned()), to }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(key: &str) -> Vec<u16> {
        key.encode_utf16().collect()
    }

    #[test]
    fn the_successor_skips_characters_that_keys_cannot_hold() {
        for (prefix, next) in [
            ("~", "\u{A0}"),
            (".", "0"),
            ("\"", "$"),
            (">", "@"),
            ("[", "]"),
            ("\u{D7FF}", "\u{10000}"),
            ("\u{10FFFF}", "\u{E000}"),
            ("a\u{FFFF}", "b"),
            ("name-", "name."),
        ] {
            assert_eq!(successor(prefix).as_deref(), Some(next), "{prefix:?}");
        }
        assert_eq!(successor(""), None);
        assert_eq!(successor("\u{FFFF}\u{FFFF}"), None);
    }

    /// Generates keys, many of them from the characters at which the two orders differ or the successor is a special
    /// case.
    fn key() -> impl Strategy<Value = String> {
        let corner = prop::sample::select(
            [
                '.',
                '0',
                '"',
                '$',
                '>',
                '@',
                '[',
                ']',
                '~',
                '\u{A0}',
                '\u{D7FF}',
                '\u{E000}',
                '\u{FFFF}',
                '\u{10000}',
                '\u{10FFFF}',
            ]
            .to_vec(),
        );
        let legal = any::<char>().prop_filter("legal in keys", |character| !forbidden_in_keys(*character));
        prop::collection::vec(prop_oneof![corner, legal], 0..4).prop_map(String::from_iter)
    }

    depth::laws! {
        20_000;

        fn keys_compare_by_utf16_unit(left in key(), right in key()) {
            prop_assert_eq!(compare(&left, &right), units(&left).cmp(&units(&right)));
        }

        fn a_prefix_range_holds_exactly_the_keys_with_the_prefix(prefix in key(), tail in key(), other in key()) {
            let KeyRange { to, .. } = prefixed(&prefix);
            let holds = |key: &str| {
                let below = match &to { Bound::Excluded(to) => compare(key, to).is_lt(), _ => true };
                compare(key, &prefix).is_ge() && below
            };
            let longer = prefix.clone() + &tail;
            prop_assert!(holds(&longer));
            prop_assert_eq!(holds(&other), other.starts_with(&prefix));
        }
    }
}
