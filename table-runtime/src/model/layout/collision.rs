//! Rule that decides whether rows of two layouts in one table can collide. It applies to the layouts of a group at
//! compile time, and to recorded layouts.

use super::{
    const_str::{begins, same},
    info::{LayoutInfo, PartInfo, may_be_empty},
    recorded::{RecordedKey, RecordedLayout},
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
    pub const fn of(layout: &'a LayoutInfo) -> Self {
        Self {
            is_index: layout.index.is_some(),
            partition: KeyStart::of(layout.partition_prefix, layout.partition),
            row: KeyStart::of(layout.row_prefix, layout.row),
        }
    }

    /// Returns the pattern of a recorded layout.
    pub fn recorded(layout: &'a RecordedLayout) -> Self {
        let RecordedLayout { partition, row, index, .. } = layout;
        Self { is_index: index.is_some(), partition: KeyStart::recorded(partition), row: KeyStart::recorded(row) }
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
    const fn of(text: &'a str, parts: &[PartInfo]) -> Self {
        let first = match parts {
            [] => FirstPart::Nothing,
            [first, ..] => FirstPart::of(first.kind, first.self_delimiting),
        };
        Self { text, first, may_be_all: may_be_empty(parts) }
    }

    fn recorded(key: &'a RecordedKey) -> Self {
        let (first, may_be_all) = match &*key.parts {
            [] => (FirstPart::Nothing, true),
            [first, rest @ ..] => {
                (FirstPart::of(&first.kind, first.self_delimiting), rest.is_empty() && first.kind == "text")
            }
        };
        Self { text: &key.prefix, first, may_be_all }
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
    use crate::model::layout::{Example, Holds, IndexInfo, Layout, Scope, change::recorded};

    const NONE: Example = Example::new(|_| String::new());

    const TEXT: PartInfo =
        PartInfo { field: "text", kind: "text", encoding: "plain", self_delimiting: false, each: false, example: NONE };
    const NUMBER: PartInfo =
        PartInfo { field: "number", kind: "u32", encoding: "plain", self_delimiting: true, each: false, example: NONE };

    const GUID: PartInfo =
        PartInfo { field: "guid", kind: "guid", encoding: "plain", self_delimiting: true, each: false, example: NONE };

    const INDEX: IndexInfo = IndexInfo {
        scope: Scope::SamePartition,
        unique: false,
        when: None,
        holds: Holds::Pointer,
        pointer: &[],
        included_fields: &[],
        values: &[],
    };

    /// Returns layouts of every shape that the rule distinguishes.
    fn layouts() -> Vec<&'static LayoutInfo> {
        let mut layouts = Vec::new();
        for partition_prefix in ["", "all"] {
            for partition in [[].as_slice(), &[TEXT]] {
                for row_prefix in ["", "id-", "id-x", "name-", "bed-"] {
                    for row in [[].as_slice(), &[TEXT], &[NUMBER, TEXT], &[GUID]] {
                        for is_index in [false, true] {
                            let index = is_index.then_some(INDEX);
                            let layout = LayoutInfo {
                                name: "layout",
                                table: "Table",
                                partition_prefix,
                                partition,
                                row_prefix,
                                row,
                                index,
                                slice: None,
                            };
                            layouts.push(&*Box::leak(Box::new(layout)));
                        }
                    }
                }
            }
        }
        layouts
    }

    /// `create` refuses the same layouts as the compiler.
    #[test]
    fn recorded_layouts_collide_exactly_when_declared_ones_do() {
        let layouts = layouts();
        let patterns: Vec<_> = layouts
            .iter()
            .map(|layout| {
                let layouts = std::slice::from_ref(*layout);
                let entity = Layout { layouts, ..Layout::empty("Entity") };
                (KeyPattern::of(layout), recorded(&entity, layout))
            })
            .collect();
        let mut collisions = 0;
        for (one, recorded) in &patterns {
            for (other, also_recorded) in &patterns {
                let collide = one.may_collide(*other);
                assert_eq!(collide, KeyPattern::recorded(recorded).may_collide(KeyPattern::recorded(also_recorded)));
                assert_eq!(collide, other.may_collide(*one), "{one:?} {other:?}");
                collisions += usize::from(collide);
            }
        }
        assert!(collisions > 0 && collisions < patterns.len().pow(2));
    }

    #[test]
    fn prefixes_prevent_collisions() {
        let layout = |prefix, row, index| LayoutInfo {
            name: "layout",
            table: "Table",
            partition_prefix: "",
            partition: &[],
            row_prefix: prefix,
            row,
            index,
            slice: None,
        };
        let index = |prefix| layout(prefix, &[TEXT], Some(INDEX));
        let own = |prefix, parts| layout(prefix, parts, None);
        let collide = |one: &LayoutInfo, other: &LayoutInfo| KeyPattern::of(one).may_collide(KeyPattern::of(other));
        assert!(collide(&index("name-"), &index("name-")));
        assert!(collide(&index("name-"), &index("na")));
        assert!(!collide(&index("name-"), &index("mail-")));
        assert!(collide(&index("name-"), &own("", &[TEXT])));
        assert!(!collide(&index("name-"), &own("id-", &[TEXT])));
        assert!(!collide(&index("name-"), &own("", &[])), "the only key is empty");
        let whole = layout("", &[], Some(INDEX));
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
