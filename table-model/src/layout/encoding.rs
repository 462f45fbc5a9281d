//! The encoding of a key part, read from the text that a layout records.

use super::{
    const_str::{begins, items, same, text},
    info::{LayoutInfo, PartInfo},
};

/// An encoding of a key part, such as `first = 1, uppercase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the options of the attribute are flags")]
pub struct Encoding {
    /// The number of hash buckets.
    pub hash: Option<usize>,
    /// The number of characters of a text that the part holds.
    pub first: Option<usize>,
    /// Text, folded to lower case.
    pub is_lowercase: bool,
    /// Text, folded to upper case.
    pub is_uppercase: bool,
    /// Text without escapes.
    pub is_raw: bool,
    /// The number of decimal places.
    pub scale: Option<usize>,
    /// The number of digits.
    pub pad: Option<usize>,
    /// The greatest value first.
    pub is_reverse: bool,
    /// Ticks, oldest first.
    pub is_time: bool,
    /// Ticks, newest first.
    pub is_reverse_time: bool,
    /// False if there is an option that this release does not know.
    pub is_known: bool,
}

impl Encoding {
    /// The type's own encoding.
    pub const PLAIN: Self = Self {
        hash: None,
        first: None,
        is_lowercase: false,
        is_uppercase: false,
        is_raw: false,
        scale: None,
        pad: None,
        is_reverse: false,
        is_time: false,
        is_reverse_time: false,
        is_known: true,
    };

    /// Returns the encoding of a part.
    pub const fn of(part: &PartInfo) -> Self {
        Self::parse(text(&part.encoding))
    }

    /// Returns the encoding of a part; `None` if this release does not know it.
    pub fn known(part: &PartInfo) -> Option<Self> {
        Some(Self::of(part)).filter(|encoding| encoding.is_known)
    }

    /// Reads a recorded text: options, separated by a comma and a space.
    pub const fn parse(text: &str) -> Self {
        let mut read = Self::PLAIN;
        let mut rest = text;
        loop {
            let (option, more) = split(rest, ", ");
            read = read.with(option);
            match more {
                Some(more) => rest = more,
                None => return read,
            }
        }
    }

    const fn with(mut self, option: &str) -> Self {
        let (name, value) = split(option, " = ");
        let Some(value) = value else {
            match name.as_bytes() {
                b"plain" => {}
                b"time" => self.is_time = true,
                b"lowercase" => self.is_lowercase = true,
                b"uppercase" => self.is_uppercase = true,
                b"raw" => self.is_raw = true,
                b"reverse" => self.is_reverse = true,
                b"reverse_time" => self.is_reverse_time = true,
                _ => self.is_known = false,
            }
            return self;
        };
        let (place, is_possible) = match (name.as_bytes(), number(value)) {
            (b"hash", Some(count)) => (&mut self.hash, count > 1),
            (b"first", Some(_)) => (&mut self.first, true),
            (b"scale", Some(places)) => (&mut self.scale, places <= 28),
            (b"pad", Some(digits)) => (&mut self.pad, digits < 512),
            _ => {
                self.is_known = false;
                return self;
            }
        };
        *place = number(value);
        self.is_known = self.is_known && is_possible;
        self
    }

    /// Checks whether the part holds the whole value, or its folded form.
    pub const fn is_whole(self) -> bool {
        self.hash.is_none() && self.first.is_none()
    }

    /// Checks whether different values have one text: the part is folded, cut or hashed.
    pub const fn is_lossy(self) -> bool {
        !self.is_whole() || self.is_lowercase || self.is_uppercase
    }
}

/// Splits a text at the first separator. The second part is `None` if there is no separator.
const fn split<'a>(text: &'a str, separator: &str) -> (&'a str, Option<&'a str>) {
    let mut at = 0;
    while at + separator.len() <= text.len() {
        if text.is_char_boundary(at) {
            let (before, rest) = text.split_at(at);
            if begins(rest, separator) {
                let (_, after) = rest.split_at(separator.len());
                return (before, Some(after));
            }
        }
        at += 1;
    }
    (text, None)
}

/// Reads a number.
const fn number(text: &str) -> Option<usize> {
    match usize::from_str_radix(text, 10) {
        Ok(number) => Some(number),
        Err(_) => None,
    }
}

/// Checks whether a part of the keys loses something of its field, which is then stored as a property too.
pub const fn is_lossy(layout: &LayoutInfo) -> bool {
    any_lossy(items(&layout.partition)) || any_lossy(items(&layout.row))
}

/// Returns one bit for each layout with [lossy](is_lossy) keys, beginning with the lowest.
pub const fn lossy_layouts(layouts: &[LayoutInfo]) -> u128 {
    let (mut bits, mut at) = (0, 0);
    while at < layouts.len() && at < 128 {
        if is_lossy(&layouts[at]) {
            bits |= 1 << at;
        }
        at += 1;
    }
    bits
}

const fn any_lossy(parts: &[PartInfo]) -> bool {
    let mut at = 0;
    while at < parts.len() {
        if parts[at].is_lossy() {
            return true;
        }
        at += 1;
    }
    false
}

impl PartInfo {
    /// Checks whether different values have one text: the part is folded, cut or hashed.
    pub(crate) const fn is_lossy(&self) -> bool {
        Encoding::of(self).is_lossy()
    }

    /// Checks whether the part is a whole text without escapes. Readers ask it for each row.
    pub(crate) const fn is_raw(&self) -> bool {
        !self.self_delimiting && same(text(&self.encoding), "raw")
    }

    /// Checks whether the part holds a whole text that can be read back.
    pub(crate) const fn holds_text(&self) -> bool {
        !self.self_delimiting && (self.is_raw() || same(text(&self.encoding), "plain"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_parsed_from_recorded_texts() {
        let expected = [
            ("plain", Encoding::PLAIN),
            ("raw", Encoding { is_raw: true, ..Encoding::PLAIN }),
            ("time", Encoding { is_time: true, ..Encoding::PLAIN }),
            ("reverse_time", Encoding { is_reverse_time: true, ..Encoding::PLAIN }),
            ("hash = 16", Encoding { hash: Some(16), ..Encoding::PLAIN }),
            ("hash = 16, lowercase", Encoding { hash: Some(16), is_lowercase: true, ..Encoding::PLAIN }),
            ("first = 1, uppercase", Encoding { first: Some(1), is_uppercase: true, ..Encoding::PLAIN }),
            ("lowercase, first = 2", Encoding { first: Some(2), is_lowercase: true, ..Encoding::PLAIN }),
            ("scale = 0", Encoding { scale: Some(0), ..Encoding::PLAIN }),
            ("scale = 2, pad = 8", Encoding { scale: Some(2), pad: Some(8), ..Encoding::PLAIN }),
            ("pad = 8, reverse", Encoding { pad: Some(8), is_reverse: true, ..Encoding::PLAIN }),
        ];
        for (text, encoding) in expected {
            assert_eq!(Encoding::parse(text), encoding, "{text}");
        }
        for unknown in [
            "",
            "newer",
            "hash = 1",
            "hash = many",
            "pad = 512",
            "scale = 29",
            "newer = 1",
            "plain, ",
            "plain,raw",
            "größe",
        ] {
            assert!(!Encoding::parse(unknown).is_known, "{unknown}");
        }
    }
}
