//! Shapes of row keys. They show to which entity a row belongs if several entities without kinds share a table.

use super::{
    const_str::{items, text},
    encoding::Encoding,
    info::{LayoutInfo, PartInfo, may_be_empty},
    segments,
};

/// Shape of an entity's row keys. The number of their parts distinguishes them from those of other entities: a master's
/// `{id}` from its items' `{id}_{item id}`.
///
/// Only self-delimiting parts can be counted, because they contain no delimiter.
#[derive(Clone, Copy, Debug)]
pub struct RowShape {
    layout: &'static LayoutInfo,
    prefix: &'static str,
    parts: &'static [PartInfo],
}

impl RowShape {
    /// Returns the shape of a layout's row keys; `None` if any row key may belong to the layout.
    pub const fn of(layout: &'static LayoutInfo) -> Option<Self> {
        let (prefix, parts) = (text(&layout.row_prefix), items(&layout.row));
        if may_be_empty(parts) { None } else { Some(Self { layout, prefix, parts }) }
    }

    /// Returns `false` if the row key certainly belongs to another entity: one with the same parts, and more or fewer
    /// of them. A malformed key fits too; the code that reads it reports the error.
    #[inline]
    pub fn fits(&self, row_key: &str) -> bool {
        // A check for an empty prefix is far faster than `strip_prefix` with one.
        let rest = if self.prefix.is_empty() { Some(row_key) } else { row_key.strip_prefix(self.prefix) };
        let Some(rest) = rest.map(str::as_bytes).filter(|rest| !rest.is_empty()) else { return false };
        // Most keys are one number.
        self.parts.len() == 1 && are_digits(rest) || self.fits_parts(rest)
    }

    fn fits_parts(&self, mut rest: &[u8]) -> bool {
        for (at, part) in self.parts.iter().enumerate() {
            if !part.self_delimiting {
                return true;
            }
            let is_last = at + 1 == self.parts.len();
            let delimiter = u8::try_from(segments::delimiter(self.layout, part)).unwrap_or_default();
            let is_guid = part.kind == "guid";
            let may_hold = |byte: u8| match byte {
                b'0'..=b'9' | b'-' => true,
                byte => is_guid && byte.is_ascii_hexdigit(),
            };
            match rest.iter().position(|byte| *byte == delimiter || !may_hold(*byte)) {
                None => return is_last || rest.is_empty(),
                // An empty part, or another character, is malformed.
                Some(end) if end == 0 || rest[end] != delimiter => return true,
                Some(_) if is_last => return false,
                Some(end) => rest = &rest[end + 1..],
            }
        }
        true
    }
}

/// Checks whether all bytes are digits, eight at a time.
#[inline]
fn are_digits(bytes: &[u8]) -> bool {
    const EACH: u64 = u64::MAX / 0xFF;
    let (eights, rest) = bytes.as_chunks();
    let is_eight = |eight: &[u8; 8]| {
        // A digit is now 0 to 9. A greater byte has its highest bit set, or sets it by the addition.
        let digits = u64::from_le_bytes(*eight) ^ (EACH * u64::from(b'0'));
        (digits | digits.wrapping_add(EACH * (0x80 - 10))) & (EACH * 0x80) == 0
    };
    // Of the last eight bytes, some may be compared twice, which takes less than to compare them one by one.
    let is_rest = bytes.last_chunk().map_or_else(|| rest.iter().all(u8::is_ascii_digit), is_eight);
    is_rest && eights.iter().all(is_eight)
}

/// Checks whether two recorded primary keys have different shapes: the row keys of each fit the other's [`RowShape`] never.
///
/// Both have the same prefix and the same delimiters, and as many parts as the shorter one has can be counted in both.
/// Each of them must consist of characters that the other's part at the same place may have, because a shape takes any
/// other character for a malformed key, which fits. A part of digits is shorter than a part of hexadecimal digits, which
/// allows it, but not the other way round.
pub(super) fn differ(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    let (own, others) = (&*one.row, &*other.row);
    let has_same_beginning = one.row_prefix == other.row_prefix && one.separator == other.separator;
    let is_known = |part: &PartInfo| part.self_delimiting && (part.kind == "guid" || DIGITS.contains(&&*part.kind));
    let writes_letters = |part: &PartInfo| part.kind == "guid" && Encoding::of(part).hash.is_none();
    let fits = |part: &PartInfo, shape: &PartInfo| shape.kind == "guid" || !writes_letters(part);
    let is_countable = |(own, others): (&PartInfo, &PartInfo)| {
        is_known(own) && is_known(others) && fits(own, others) && fits(others, own)
    };
    // A constant row key has no shape: every row key may belong to its layout.
    let can_be_counted = !own.is_empty() && !others.is_empty() && own.iter().zip(others).all(is_countable);
    has_same_beginning && own.len() != others.len() && can_be_counted
}

/// Kinds whose encodings write only digits and `-`.
const DIGITS: [&str; 14] =
    ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "decimal", "time", "date", "bool"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Example, PartType};

    /// Returns every key of one to three parts, with two prefixes.
    fn layouts(separator: Option<char>) -> Vec<&'static LayoutInfo> {
        const KINDS: [(&str, &str); 5] =
            [("text", "plain"), ("i64", "pad = 3"), ("guid", "plain"), ("guid", "hash = 16"), ("date", "reverse")];
        let part = |(kind, encoding): (&'static str, &'static str)| {
            let example = Example::new(|_| String::new());
            PartType { kind, self_delimiting: kind != "text", example }.of("field", encoding, false)
        };
        let mut rows: Vec<Vec<_>> = vec![Vec::new()];
        for count in 0..3 {
            let longest: Vec<_> = rows.iter().filter(|row| row.len() == count).cloned().collect();
            rows.extend(longest.iter().flat_map(|row| KINDS.map(|kind| [row.as_slice(), &[kind]].concat())));
        }
        let mut layouts = Vec::new();
        for row_prefix in ["", "n-"] {
            for row in &rows {
                let row = row.iter().copied().map(part).collect();
                let (row_prefix, partition_prefix) = (row_prefix.into(), "all".into());
                let layout = LayoutInfo { partition_prefix, row_prefix, row, separator, ..LayoutInfo::default() };
                layouts.push(&*Box::leak(Box::new(layout)));
            }
        }
        layouts
    }

    /// Returns texts that the encoding of the part can write.
    fn texts(part: &PartInfo) -> &'static [&'static str] {
        match (part.kind.as_bytes(), part.encoding.as_bytes()) {
            (b"text", _) => &["5", "a_7", "!20", ""],
            (b"i64", _) => &["005", "-998"],
            (b"guid", b"plain") => &["00000000-0000-0000-0000-000000000001", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
            (b"guid", _) => &["07"],
            _ => &["7989-94-71"],
        }
    }

    /// Returns row keys of the layout: every combination of the texts of its parts.
    fn keys(layout: &LayoutInfo) -> Vec<String> {
        let mut keys = vec![layout.row_prefix.to_string()];
        for (at, part) in layout.row.iter().enumerate() {
            let end = (at + 1 < layout.row.len()).then(|| segments::delimiter(layout, part));
            let more = |key: String| {
                texts(part)
                    .iter()
                    .map(move |text| key.clone() + text + end.as_slice().iter().collect::<String>().as_str())
            };
            keys = keys.into_iter().flat_map(more).collect();
        }
        keys
    }

    #[test]
    fn digits_are_recognized_in_words() {
        for at in 0..19 {
            for byte in 0..=u8::MAX {
                let mut bytes = *b"1234567890987654321";
                bytes[at] = byte;
                assert_eq!(are_digits(&bytes), byte.is_ascii_digit(), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn shapes_that_differ_exclude_each_others_keys() {
        let keyed: Vec<_> = [None, Some('+')]
            .into_iter()
            .flat_map(layouts)
            .map(|layout| (layout, RowShape::of(layout), keys(layout)))
            .collect();
        let (mut differing, mut alike) = (0, 0);
        for (one, shape, own_keys) in &keyed {
            if let Some(shape) = shape {
                assert!(own_keys.iter().all(|key| shape.fits(key)), "{one:?}");
            }
            for (other, _, keys) in &keyed {
                let do_differ = differ(one, other);
                assert_eq!(do_differ, differ(other, one), "{one:?} {other:?}");
                differing += usize::from(do_differ);
                alike += usize::from(!do_differ);
                if do_differ {
                    let fitting = keys.iter().find(|key| shape.is_none_or(|shape| shape.fits(key)));
                    assert_eq!(fitting, None, "{other:?} fits {one:?}");
                }
            }
        }
        assert!(differing > 1_000 && alike > differing, "{differing} {alike}");
    }
}
