//! The shapes of keys.

use table_runtime::{
    Guid, Ticks,
    key::{Decode, Escape, Plain, kind},
    transfer::TableRow,
};

/// Characters that other programs write between the parts of keys. A hyphen, which occurs within parts, can be none.
const SEPARATORS: [char; 7] = ['_', '|', ':', ';', ',', '+', '@'];

/// The keys of all rows.
pub(super) struct Keys {
    pub(super) partition: Key,
    pub(super) row: Key,
    /// The only delimiter of both keys, if they do not have those of the library.
    pub(super) separator: Option<char>,
}

/// A key of all rows.
#[derive(Debug, PartialEq)]
pub(super) enum Key {
    /// The same text in all of them.
    Constant(String),
    Parts {
        prefix: String,
        parts: Vec<Part>,
    },
}

/// A part of a key, by the values that all rows have in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Guid,
    /// Ticks, oldest first.
    Time,
    /// Ticks, newest first.
    ReverseTime,
    /// Numbers with this many digits.
    Number(usize),
    /// Numbers with all digits of the type.
    Whole(&'static str),
    /// Text in the encoding of the library.
    Text,
    /// Text with characters that the library escapes.
    Raw,
}

impl Part {
    /// Returns the options of the attribute.
    pub(super) fn options(self) -> Vec<String> {
        match self {
            Self::Guid | Self::Text | Self::Whole(_) => Vec::new(),
            Self::Time => vec!["time".to_owned()],
            Self::ReverseTime => vec!["reverse_time".to_owned()],
            Self::Number(digits) => vec![format!("pad = {digits}")],
            Self::Raw => vec!["raw".to_owned()],
        }
    }

    /// Returns the type of the field.
    pub(super) const fn rust_type(self) -> &'static str {
        match self {
            Self::Guid => "Guid",
            Self::Time | Self::ReverseTime => "SystemTime",
            Self::Number(..=9) => "u32",
            Self::Number(..=19) => "u64",
            Self::Number(_) => "u128",
            Self::Whole(rust_type) => rust_type,
            Self::Text | Self::Raw => "String",
        }
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Raw)
    }
}

impl Keys {
    /// Finds the shapes of the keys. Those of a part of the rows have no constant text: other rows may have another one.
    pub(super) fn infer(rows: &[TableRow], is_part: bool) -> Self {
        let partitions: Vec<_> = rows.iter().map(|row| row.partition_key.as_str()).collect();
        let row_keys: Vec<_> = rows.iter().map(|row| row.row_key.as_str()).collect();
        let both = |separator| (key(&partitions, separator, false, is_part), key(&row_keys, separator, true, is_part));
        // A separator is better only if it makes a key a composition that the library's delimiters do not.
        let (partition, row) = both(None);
        let mut best = Self { partition, row, separator: None };
        if best.compositions() == 0 && (best.partition.is_one_text() || best.row.is_one_text()) {
            for separator in SEPARATORS {
                let (partition, row) = both(Some(separator));
                let other = Self { partition, row, separator: Some(separator) };
                if other.compositions() > best.compositions() {
                    best = other;
                }
            }
        }
        best
    }

    fn compositions(&self) -> usize {
        [&self.partition, &self.row]
            .into_iter()
            .filter(|key| matches!(key, Key::Parts { parts, .. } if parts.len() > 1))
            .count()
    }
}

impl Key {
    fn is_one_text(&self) -> bool {
        matches!(self, Self::Parts { parts, .. } if matches!(parts.as_slice(), [part] if part.is_text()))
    }
}

/// Finds the shape of a key. Only row keys have prefixes.
fn key(keys: &[&str], separator: Option<char>, has_prefix: bool, is_part: bool) -> Key {
    if let [first, _, ..] = keys
        && !is_part
        && keys.iter().all(|key| key == first)
    {
        return Key::Constant((*first).to_owned());
    }
    let prefix = if has_prefix && !is_part { common_prefix(keys) } else { "" };
    let rest: Vec<_> = keys.iter().map(|key| &key[prefix.len()..]).collect();
    let only = part(&rest, true, separator);
    let several = if only.is_text() { composition(&rest, separator) } else { None };
    Key::Parts { prefix: prefix.to_owned(), parts: several.unwrap_or_else(|| vec![only]) }
}

/// Returns the letters and the hyphen that all keys begin with, such as `id-`; empty if they do not.
fn common_prefix<'a>(keys: &[&'a str]) -> &'a str {
    let Some(first) = keys.first() else { return "" };
    let Some((word, _)) = first.split_once('-') else { return "" };
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let prefix = &first[..=word.len()];
    let is_common = keys.iter().all(|key| key.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    // A GUID may begin with eight letters.
    if keys.len() > 1 && is_word && is_common && part(keys, true, None) != Part::Guid { prefix } else { "" }
}

/// Splits the keys into parts, of which at least one is no text; `None` if they are not all split alike.
fn composition(keys: &[&str], separator: Option<char>) -> Option<Vec<Part>> {
    if separator == Some(':') && keys.iter().any(|key| has_time_of_day(key)) {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest: Vec<&str> = keys.to_vec();
    loop {
        let split = |delimiter: char| rest.iter().map(|key| key.split_once(delimiter)).collect::<Option<Vec<_>>>();
        let next = |delimiter: char| {
            let (texts, after): (Vec<_>, Vec<_>) = split(delimiter)?.into_iter().unzip();
            Some((part(&texts, false, separator), after))
        };
        let found = match separator {
            Some(separator) => next(separator).filter(|(part, _)| *part != Part::Raw),
            // A part that marks its own end is followed by `_`, and a text by a space.
            None => next('_')
                .filter(|(part, _)| !part.is_text())
                .or_else(|| next(' ').filter(|(part, _)| *part == Part::Text)),
        };
        match found {
            Some((part, after)) => {
                parts.push(part);
                rest = after;
            }
            None => break,
        }
    }
    if parts.is_empty() {
        return None;
    }
    // Not all keys have as many parts.
    if separator.is_some_and(|separator| rest.iter().any(|text| text.contains(separator))) {
        return None;
    }
    parts.push(part(&rest, true, separator));
    parts.iter().any(|part| !part.is_text()).then_some(parts)
}

/// Checks whether a text has a time of day such as `T03:04`, whose colon separates no parts.
fn has_time_of_day(text: &str) -> bool {
    let is_time = |bytes: &[u8]| {
        let [b'T', h1, h2, b':', m1, m2] = bytes else { return false };
        [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit())
    };
    text.as_bytes().windows(6).any(is_time)
}

/// Finds the shape of a part.
fn part(texts: &[&str], is_last: bool, separator: Option<char>) -> Part {
    let all = |is: &dyn Fn(&str) -> bool| texts.iter().all(|text| is(text));
    if all(&|text| text.parse::<Guid>().is_ok_and(|guid| guid.to_string() == text)) {
        return Part::Guid;
    }
    let width = texts.first().map_or(0, |text| text.len());
    if width > 1 && all(&|text| text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit())) {
        let ticks = |text: &str| text.parse().ok().and_then(Ticks::new);
        if width == 19 && all(&|text| ticks(text).is_some_and(is_likely)) {
            return Part::Time;
        }
        let mirrored = |text: &str| ticks(text).and_then(|ticks| Ticks::new(Ticks::MAX.get() - ticks.get()));
        if width == 19 && all(&|text| mirrored(text).is_some_and(is_likely)) {
            return Part::ReverseTime;
        }
        match width {
            10 if all(&|text| text.parse::<u32>().is_ok()) => return Part::Whole("u32"),
            20 if all(&|text| text.parse::<u64>().is_ok()) => return Part::Whole("u64"),
            ..=38 => return Part::Number(width),
            _ => {}
        }
    }
    let escape = Escape { last: is_last, separator: separator.and_then(|separator| u8::try_from(separator).ok()) };
    let is_plain = all(&|text| <Plain as Decode<kind::Text>>::read(text, escape).is_ok());
    if is_plain { Part::Text } else { Part::Raw }
}

/// Checks whether the time is one that programs write: 1980 to 2100.
fn is_likely(time: Ticks) -> bool {
    let year = |text: &str| text.parse::<Ticks>().unwrap_or_default();
    (year("1980-01-01T00:00:00Z")..year("2100-01-01T00:00:00Z")).contains(&time)
}
