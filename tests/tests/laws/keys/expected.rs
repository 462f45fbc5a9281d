//! Expected keys, and functions that write and read keys.

use std::cmp::Ordering;

use proptest::{prelude::*, sample::select};
use table_runtime::{
    KeyPart,
    key::{Decode, Encode, Escape, KeyBuffer, KeyProblem, Kind, Plain, kind},
};

use super::values::SEPARATORS;

pub(crate) fn forbidden(character: char) -> bool {
    matches!(character, '/' | '\\' | '#' | '?' | '\0'..='\x1F' | '\x7F'..='\u{9F}')
}

pub(crate) fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Returns the escaped text.
pub(crate) fn escaped(text: &str, Escape { last, separator }: Escape) -> String {
    let one = |character: char| {
        let code = u32::from(character);
        match character {
            ' ' | '!' if !last && separator.is_none() => format!("!{code:02X}"),
            '%' | '~' => format!("~{code:02X}"),
            _ if forbidden(character) || separator.map(char::from) == Some(character) => format!("~{code:02X}"),
            _ => character.to_string(),
        }
    };
    text.chars().map(one).collect()
}

pub(crate) fn by_key(left: &str, right: &str) -> Ordering {
    units(&escaped(left, LAST)).cmp(&units(&escaped(right, LAST)))
}

pub(crate) const LAST: Escape = Escape { last: true, separator: None };

/// Returns the text folded character by character, with the crate's own tables.
pub(crate) fn folded<N: Encode<kind::Text>>(text: &str) -> String {
    let mut folded = String::new();
    for character in text.chars() {
        let key = write::<String, N>(&character.to_string(), LAST);
        folded += &<Plain as Decode<kind::Text>>::read(&key, LAST).unwrap();
    }
    folded
}

pub(crate) fn write<T: KeyPart, N: Encode<T::Kind>>(value: &T, escape: Escape) -> String {
    try_write::<T, N>(value, escape).unwrap()
}

pub(crate) fn try_write<T: KeyPart, N: Encode<T::Kind>>(value: &T, escape: Escape) -> Result<String, KeyProblem> {
    let mut key = KeyBuffer::new();
    N::write(value.to_value(), escape, &mut key)?;
    Ok(key.into_string())
}

pub(crate) fn read<T: KeyPart, N: Decode<T::Kind>>(key: &str, escape: Escape) -> Result<T, KeyProblem> {
    N::read(key, escape).and_then(T::from_key)
}

/// Returns the character after a part.
pub(crate) fn delimiter<K: Kind, N: Encode<K>>(separator: Option<u8>) -> char {
    separator.unwrap_or(N::DELIMITER).into()
}

pub(crate) fn escape() -> impl Strategy<Value = Escape> {
    (any::<bool>(), separator()).prop_map(|(last, separator)| Escape { last, separator })
}

pub(crate) fn separator() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![Just(None), select(SEPARATORS).prop_map(Some)]
}
