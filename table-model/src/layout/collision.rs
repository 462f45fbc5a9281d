//! Rule that decides whether rows of two layouts in one table can collide. It applies to the layouts of a group at
//! compile time, and to recorded layouts.

use super::{
    const_str::{begins, items, same, text},
    info::{LayoutInfo, PartInfo, may_be_empty},
};

/// Keys that the rows of a layout can have, as far as collisions in their table depend on them.
#[derive(Clone, Copy, Debug)]
pub struct KeyPattern<'a> {
    is_index: bool,
    partition: KeyStart<'a>,
    row: KeyStart<'a>,
}

/// Beginning that all partition keys or all row keys of a layout share.
#[derive(Clone, Copy, Debug)]
struct KeyStart<'a> {
    text: &'a str,
    first: FirstPart,
    /// `true` if `text` may be a whole key.
    may_be_all: bool,
}

/// Kind of the part that follows the shared text.
#[derive(Clone, Copy, Debug)]
enum FirstPart {
    Nothing,
    Text,
    /// Self-delimiting part of digits and `-`.
    Digits,
    /// Self-delimiting part of hexadecimal digits and `-`.
    Guid,
}

impl<'a> KeyPattern<'a> {
    /// Returns the pattern of the keys in a layout.
    pub const fn of(layout: &'a LayoutInfo) -> Self {
        Self {
            is_index: layout.index.is_some(),
            partition: KeyStart::of(text(&layout.partition_prefix), items(&layout.partition)),
            row: KeyStart::of(text(&layout.row_prefix), items(&layout.row)),
        }
    }

    /// Checks whether a row with these keys can belong to the layout. At most one of several layouts that cannot collide
    /// includes a key.
    pub fn includes(self, partition_key: &str, row_key: &str) -> bool {
        self.partition.begins(partition_key) && self.row.begins(row_key)
    }

    /// Checks whether rows of two entities' layouts in one table could have the same key. Only pairs with at least one
    /// index can collide. Kinds are ignored, because they are not part of a key.
    pub const fn may_collide(self, other: Self) -> bool {
        (self.is_index || other.is_index) && self.may_equal(other)
    }

    /// Checks whether rows of both layouts could have the same key.
    pub const fn may_equal(self, other: Self) -> bool {
        self.partition.may_equal(other.partition) && self.row.may_equal(other.row)
    }

    /// Checks whether one layout has a constant partition key, and the partition keys of the other have parts. The value
    /// of a text part could be the constant.
    pub const fn only_one_partition_is_constant(self, other: Self) -> bool {
        matches!(self.partition.first, FirstPart::Nothing) != matches!(other.partition.first, FirstPart::Nothing)
    }
}

impl FirstPart {
    const fn of(kind: &str, self_delimiting: bool) -> Self {
        match (self_delimiting, same(kind, "guid")) {
            (false, _) => Self::Text,
            (true, false) => Self::Digits,
            (true, true) => Self::Guid,
        }
    }

    /// Checks whether a text of this kind may begin with `rest`, the remaining bytes of a longer shared text.
    const fn may_start_with(self, rest: &[u8]) -> bool {
        match (self, rest) {
            (_, []) | (Self::Text, _) => true,
            (Self::Nothing, _) => false,
            (Self::Digits | Self::Guid, [b'0'..=b'9' | b'-', rest @ ..]) | (Self::Guid, [b'a'..=b'f', rest @ ..]) => {
                self.may_start_with(rest)
            }
            // The byte may be the delimiter between two parts.
            (_, [byte, ..]) => byte.is_ascii_punctuation(),
        }
    }
}

impl<'a> KeyStart<'a> {
    const fn of(start: &'a str, parts: &[PartInfo]) -> Self {
        let first = match parts {
            [] => FirstPart::Nothing,
            [first, ..] => FirstPart::of(text(&first.kind), first.self_delimiting),
        };
        Self { text: start, first, may_be_all: may_be_empty(parts) }
    }

    /// Checks whether the key can have this beginning.
    fn begins(self, key: &str) -> bool {
        let Some(rest) = key.strip_prefix(self.text) else { return false };
        match (self.first, rest.as_bytes()) {
            (FirstPart::Nothing, rest) => rest.is_empty(),
            (FirstPart::Text, _) => true,
            (_, []) => self.may_be_all,
            (first, [byte, ..]) => first.may_start_with(&[*byte]),
        }
    }

    /// Checks whether one key can begin with both.
    const fn may_equal(self, other: Self) -> bool {
        let (shorter, longer) = if self.text.len() < other.text.len() { (self, other) } else { (other, self) };
        if !begins(longer.text, shorter.text) {
            return false;
        }
        let (_, rest) = longer.text.as_bytes().split_at(shorter.text.len());
        match (shorter.first, longer.first) {
            // The shorter one is a single constant key.
            (FirstPart::Nothing, _) => rest.is_empty() && longer.may_be_all,
            (_, FirstPart::Nothing) if rest.is_empty() => shorter.may_be_all,
            (first, _) => first.may_start_with(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Example, IndexInfo, PartType};

    const NONE: Example = Example::new(|_| String::new());
    const TEXT: PartInfo = PartType { kind: "text", self_delimiting: false, example: NONE }.of("text", "plain", false);
    const NUMBER: PartInfo =
        PartType { kind: "u32", self_delimiting: true, example: NONE }.of("number", "plain", false);
    const GUID: PartInfo = PartType { kind: "guid", self_delimiting: true, example: NONE }.of("guid", "plain", false);

    #[test]
    fn prefixes_prevent_collisions() {
        let layout = |prefix: &'static str, row: &[PartInfo], index| LayoutInfo {
            row_prefix: prefix.into(),
            row: row.to_vec().into(),
            index,
            ..LayoutInfo::default()
        };
        let index = |prefix| layout(prefix, &[TEXT], Some(IndexInfo::UNKNOWN));
        let own = |prefix, parts: &[PartInfo]| layout(prefix, parts, None);
        let collide = |one: &LayoutInfo, other: &LayoutInfo| KeyPattern::of(one).may_collide(KeyPattern::of(other));
        assert!(collide(&index("name-"), &index("name-")));
        assert!(collide(&index("name-"), &index("na")));
        assert!(!collide(&index("name-"), &index("mail-")));
        assert!(collide(&index("name-"), &own("", &[TEXT])));
        assert!(!collide(&index("name-"), &own("id-", &[TEXT])));
        assert!(!collide(&index("name-"), &own("", &[])), "the only key is empty");
        let whole = layout("", &[], Some(IndexInfo::UNKNOWN));
        assert!(collide(&whole, &own("", &[])) && collide(&whole, &own("", &[TEXT])));
        assert!(
            !collide(&whole, &own("", &[NUMBER])) && !collide(&whole, &own("", &[TEXT, TEXT])),
            "these keys are never empty"
        );
        assert!(!collide(&index("name-"), &own("", &[NUMBER])), "no number begins with letters");
        assert!(!collide(&index("bed-"), &own("", &[NUMBER])));
        assert!(collide(&index("bed-"), &own("", &[GUID])));
        assert!(collide(&index(""), &own("", &[NUMBER])), "a text may consist of digits");
        assert!(collide(&index("1_"), &own("", &[NUMBER, TEXT])));
        assert!(!collide(&own("id-", &[TEXT]), &own("id-", &[TEXT])), "two primary keys differ by shape or kind");
    }
}
