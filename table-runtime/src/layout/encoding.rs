//! The encodings of key parts, as far as other code than the encodings themselves depends on them.

use super::{
    const_str::begins,
    info::{LayoutInfo, PartInfo},
};

/// An encoding of a key part. A layout records it as text, such as `first = 1, uppercase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The type's own encoding, `plain`.
    Plain,
    /// Text without escapes.
    Raw,
    /// Ticks, oldest first.
    Time,
    /// Ticks, newest first.
    ReverseTime,
    /// The number of a hash bucket.
    Hash,
    /// The first characters of a text.
    First,
    /// Another encoding that holds the whole value, or its folded form.
    Whole,
}

impl Encoding {
    /// Reads a recorded text.
    pub(super) const fn parse(text: &str) -> Self {
        match text.as_bytes() {
            b"plain" => Self::Plain,
            b"raw" => Self::Raw,
            b"time" => Self::Time,
            b"reverse_time" => Self::ReverseTime,
            _ if has_option(text, "hash = ") => Self::Hash,
            _ if has_option(text, "first = ") => Self::First,
            _ => Self::Whole,
        }
    }

    /// Checks whether the part holds the whole value, or its folded form.
    pub(crate) const fn is_whole(self) -> bool {
        !matches!(self, Self::Hash | Self::First)
    }
}

impl LayoutInfo {
    /// Checks whether a part of the keys loses something of its field, which is then stored as a property too.
    pub(crate) const fn is_lossy(&self) -> bool {
        any_lossy(self.partition) || any_lossy(self.row)
    }
}

/// Returns one bit for each layout with [lossy](LayoutInfo::is_lossy) keys, beginning with the lowest.
pub(crate) const fn lossy_layouts(layouts: &[LayoutInfo]) -> u128 {
    let (mut bits, mut at) = (0, 0);
    while at < layouts.len() && at < 128 {
        if layouts[at].is_lossy() {
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
        !self.parsed().is_whole() || has_option(self.encoding, "lowercase") || has_option(self.encoding, "uppercase")
    }

    /// Returns the part's encoding.
    pub(crate) const fn parsed(&self) -> Encoding {
        Encoding::parse(self.encoding)
    }

    /// Checks whether the part holds a whole text that can be read back.
    pub(crate) fn holds_text(&self) -> bool {
        !self.self_delimiting && matches!(self.parsed(), Encoding::Plain | Encoding::Raw)
    }
}

/// Checks whether one of the comma-separated options begins like this.
const fn has_option(text: &str, option: &str) -> bool {
    let mut rest = text;
    loop {
        if begins(rest, option) {
            return true;
        }
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b',' {
            at += 1;
        }
        // A comma and a space separate the options.
        if at + 2 > rest.len() {
            return false;
        }
        (_, rest) = rest.split_at(at + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_parsed_from_recorded_texts() {
        let expected = [
            ("plain", Encoding::Plain),
            ("raw", Encoding::Raw),
            ("time", Encoding::Time),
            ("reverse_time", Encoding::ReverseTime),
            ("hash = 16", Encoding::Hash),
            ("hash = 16, lowercase", Encoding::Hash),
            ("first = 1, uppercase", Encoding::First),
            ("lowercase, first = 2", Encoding::First),
            ("uppercase", Encoding::Whole),
            ("pad = 8, reverse", Encoding::Whole),
        ];
        for (text, encoding) in expected {
            assert_eq!(Encoding::parse(text), encoding, "{text}");
        }
    }
}
