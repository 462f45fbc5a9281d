//! The order of keys: by UTF-16 unit, as the service compares them.
//!
//! It differs from the order of `str`, which is by code point, where a character above U+FFFF (in UTF-16 a surrogate
//! pair, U+D800 to U+DFFF) meets one of U+E000 to U+FFFF.

use std::{cmp::Ordering, ops::Bound};

use crate::{
    backend::KeyRange,
    limits::{KEY_UNITS, forbidden_in_keys, longer},
};

/// The order of two keys.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    // UTF-8 bytes compare as code points do; only the lead bytes of U+E000 to U+FFFF have to stand above those of the
    // characters past them.
    let rank = |byte: &u8| match byte {
        0xEE => 0xFE,
        0xEF => 0xFF,
        byte => *byte,
    };
    left.bytes().map(|byte| rank(&byte)).cmp(right.bytes().map(|byte| rank(&byte)))
}

/// The first key after all those that begin with `prefix`; `None` if there is none, as for the empty prefix.
///
/// It is the prefix with its last character's successor among the characters that keys may hold, not the prefix and a
/// "last" character after it: whichever one is taken, a key can go on past it.
pub(crate) fn successor(prefix: &str) -> Option<String> {
    let mut prefix = prefix.to_owned();
    while let Some(last) = prefix.pop() {
        if let Some(next) = next_character(last) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}

/// The next character in the order of keys that keys may hold.
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

/// The keys that begin with `prefix`.
pub(crate) fn prefixed(prefix: &str) -> KeyRange {
    if prefix.is_empty() {
        return KeyRange::ALL;
    }
    let to = match successor(prefix) {
        // The successor of U+D7FF has a unit more. A prefix that is as long as a key can be begins no other key.
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
    fn successors_of_the_corners() {
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

    /// Characters where the two orders and the successors have their corners.
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn keys_compare_by_utf16_unit(left in key(), right in key()) {
            prop_assert_eq!(compare(&left, &right), units(&left).cmp(&units(&right)));
        }

        #[test]
        fn a_prefix_range_holds_what_begins_with_it(prefix in key(), tail in key(), other in key()) {
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
