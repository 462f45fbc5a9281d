//! Whether rows of two layouts in one table could be taken for each other: one rule, for the layouts of a group while
//! it is compiled and for those that are recorded.

use serde_json::Value;

use super::{
    const_str::{begins, same},
    info::{LayoutInfo, PartInfo, may_be_empty},
};

/// Where the rows of a layout stand, as far as others in their table depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPattern<'a> {
    is_index: bool,
    partition: KeyStart<'a>,
    row: KeyStart<'a>,
}

/// What the keys of all rows begin with.
#[derive(Clone, Copy, Debug)]
struct KeyStart<'a> {
    text: &'a str,
    first: FirstPart,
    /// Whether it may be all of a key.
    may_be_all: bool,
}

/// What follows.
#[derive(Clone, Copy, Debug)]
enum FirstPart {
    Nothing,
    Text,
    /// A part that tells its own end: digits and `-`.
    Digits,
    /// Likewise, with hexadecimal digits.
    Guid,
}

impl<'a> KeyPattern<'a> {
    pub(crate) const fn of(layout: &'a LayoutInfo) -> Self {
        Self {
            is_index: layout.index.is_some(),
            partition: KeyStart::of(layout.partition_prefix, layout.partition),
            row: KeyStart::of(layout.row_prefix, layout.row),
        }
    }

    /// Of a layout that was written down.
    pub(crate) fn recorded(layout: &'a Value) -> Self {
        let beginning = |key: &str, prefix: &str| {
            let first = match layout[key].get(0) {
                None => FirstPart::Nothing,
                Some(part) => FirstPart::of(part["kind"].as_str().unwrap_or_default(), part["self_delimiting"] == true),
            };
            let may_be_all = match (first, layout[key].get(1)) {
                (FirstPart::Nothing, _) => true,
                (_, None) => layout[key][0]["kind"] == "text",
                _ => false,
            };
            KeyStart { text: layout[prefix].as_str().unwrap_or_default(), first, may_be_all }
        };
        let (partition, row) = (beginning("partition", "partition_prefix"), beginning("row", "row_prefix"));
        Self { is_index: !layout["index"].is_null(), partition, row }
    }

    /// Whether rows of two entities' layouts in one table could have one key, where one of them is an index. Kinds do
    /// not keep keys apart.
    pub(crate) const fn may_collide(self, other: Self) -> bool {
        (self.is_index || other.is_index) && self.partition.may_equal(other.partition) && self.row.may_equal(other.row)
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

    /// Whether what follows may begin with the rest of another key's beginning.
    const fn may_start_with(self, rest: &[u8]) -> bool {
        match (self, rest) {
            (_, []) | (Self::Text, _) => true,
            (Self::Nothing, _) => false,
            (Self::Digits | Self::Guid, [b'0'..=b'9' | b'-', rest @ ..]) | (Self::Guid, [b'a'..=b'f', rest @ ..]) => {
                self.may_start_with(rest)
            }
            // It may be what stands between two parts.
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

    /// Whether one key can begin with both.
    const fn may_equal(self, other: Self) -> bool {
        let (shorter, longer) = if self.text.len() < other.text.len() { (self, other) } else { (other, self) };
        if !begins(longer.text, shorter.text) {
            return false;
        }
        let (_, rest) = longer.text.as_bytes().split_at(shorter.text.len());
        match (shorter.first, longer.first) {
            // The one key.
            (FirstPart::Nothing, _) => rest.is_empty() && longer.may_be_all,
            (_, FirstPart::Nothing) if rest.is_empty() => shorter.may_be_all,
            (first, _) => first.may_start_with(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Holds, IndexInfo, Layout, Scope, layout::change::written};

    const TEXT: PartInfo = PartInfo { field: "text", kind: "text", encoding: "plain", self_delimiting: false };
    const NUMBER: PartInfo = PartInfo { field: "number", kind: "u32", encoding: "plain", self_delimiting: true };

    const GUID: PartInfo = PartInfo { field: "guid", kind: "guid", encoding: "plain", self_delimiting: true };

    /// Layouts of every shape that the rule looks at.
    fn layouts() -> Vec<&'static LayoutInfo> {
        let mut layouts = Vec::new();
        for partition_prefix in ["", "all"] {
            for partition in [[].as_slice(), &[TEXT]] {
                for row_prefix in ["", "id-", "id-x", "name-", "bed-"] {
                    for row in [[].as_slice(), &[TEXT], &[NUMBER, TEXT], &[GUID]] {
                        for is_index in [false, true] {
                            let index = is_index.then_some(IndexInfo {
                                scope: Scope::SamePartition,
                                unique: false,
                                when: false,
                                holds: Holds::Pointer,
                                pointer: &[],
                                included: &[],
                                values: &[],
                            });
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

    /// What a program is refused while it is compiled is what `create` would refuse.
    #[test]
    fn what_is_recorded_meets_what_is_declared() {
        let layouts = layouts();
        let standings: Vec<_> = layouts
            .iter()
            .map(|layout| {
                let layouts = std::slice::from_ref(*layout);
                let entity =
                    Layout { entity: "Entity", layouts, properties: &[], kind: None, write_id: false, separator: None };
                (KeyPattern::of(layout), written(&entity, layout))
            })
            .collect();
        let mut meetings = 0;
        for (one, written) in &standings {
            for (other, also_written) in &standings {
                let meet = one.may_collide(*other);
                assert_eq!(meet, KeyPattern::recorded(written).may_collide(KeyPattern::recorded(also_written)));
                assert_eq!(meet, other.may_collide(*one), "{one:?} {other:?}");
                meetings += usize::from(meet);
            }
        }
        assert!(meetings > 0 && meetings < standings.len().pow(2));
    }

    #[test]
    fn prefixes_tell_rows_apart() {
        let index = |prefix: &str| serde_json::json!({ "index": {}, "row_prefix": prefix, "row": [TEXT] });
        let own = |prefix: &str, parts: &[PartInfo]| serde_json::json!({ "row_prefix": prefix, "row": parts });
        let meet = |one: &Value, other: &Value| KeyPattern::recorded(one).may_collide(KeyPattern::recorded(other));
        assert!(meet(&index("name-"), &index("name-")));
        assert!(meet(&index("name-"), &index("na")));
        assert!(!meet(&index("name-"), &index("mail-")));
        assert!(meet(&index("name-"), &own("", &[TEXT])));
        assert!(!meet(&index("name-"), &own("id-", &[TEXT])));
        assert!(!meet(&index("name-"), &own("", &[])), "the one row without a key");
        let whole = serde_json::json!({ "index": {}, "row_prefix": "", "row": [] });
        assert!(meet(&whole, &own("", &[])) && meet(&whole, &own("", &[TEXT])));
        assert!(!meet(&whole, &own("", &[NUMBER])) && !meet(&whole, &own("", &[TEXT, TEXT])), "never without a text");
        assert!(!meet(&index("name-"), &own("", &[NUMBER])), "no number begins so");
        assert!(!meet(&index("bed-"), &own("", &[NUMBER])));
        assert!(meet(&index("bed-"), &own("", &[GUID])));
        assert!(meet(&index(""), &own("", &[NUMBER])), "a text may be of digits");
        assert!(meet(&index("1_"), &own("", &[NUMBER, TEXT])));
        assert!(
            !meet(&own("id-", &[TEXT]), &own("id-", &[TEXT])),
            "they are told apart by their shapes, or are one kind"
        );
    }
}
