//! The encodings of key parts, as far as other code than the encodings themselves depends on them.

use super::{const_str::begins, info::PartInfo};

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

impl PartInfo {
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
