//! Whether rows of two layouts in one table could be taken for each other: one rule, for the layouts of a group while
//! it is compiled and for those that are recorded.

use serde_json::Value;

use super::LayoutInfo;

/// How the rows of a layout are told from others in their table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing<'a> {
    is_index: bool,
    /// Whether each row says what it is: an entity with a kind is known by it, and a row key that begins with a part
    /// that is no text does not begin as a prefix does.
    is_told: bool,
    partition: Beginning<'a>,
    row: Beginning<'a>,
}

/// What the keys of all rows begin with.
#[derive(Clone, Copy, Debug)]
struct Beginning<'a> {
    text: &'a str,
    /// Whether it is the whole of them.
    is_whole: bool,
}

impl<'a> Standing<'a> {
    /// Of a layout of an entity that has a kind or not.
    pub(crate) const fn of(layout: &'a LayoutInfo, has_kind: bool) -> Self {
        let begins_otherwise = match layout.row {
            [first, ..] => layout.row_prefix.is_empty() && first.self_delimiting,
            [] => false,
        };
        Self {
            is_index: layout.index.is_some(),
            is_told: layout.index.is_none() && (has_kind || begins_otherwise),
            partition: Beginning { text: layout.partition_prefix, is_whole: layout.partition.is_empty() },
            row: Beginning { text: layout.row_prefix, is_whole: layout.row.is_empty() },
        }
    }

    /// Of a layout that was written down.
    pub(crate) fn recorded(layout: &'a Value) -> Self {
        let beginning = |key: &str, prefix: &str| Beginning {
            text: layout[prefix].as_str().unwrap_or_default(),
            is_whole: layout[key].as_array().is_none_or(Vec::is_empty),
        };
        let (partition, row) = (beginning("partition", "partition_prefix"), beginning("row", "row_prefix"));
        let begins_otherwise = row.text.is_empty() && layout["row"][0]["self_delimiting"] == true;
        let is_index = !layout["index"].is_null();
        Self { is_index, is_told: !is_index && (!layout["kind"].is_null() || begins_otherwise), partition, row }
    }

    /// Whether rows of two entities' layouts in one table could be taken for each other, where one of them is an
    /// index.
    pub(crate) const fn may_meet(self, other: Self) -> bool {
        (self.is_index || other.is_index)
            && !self.is_told
            && !other.is_told
            && self.partition.is_related(other.partition)
            && self.row.is_related(other.row)
    }
}

impl Beginning<'_> {
    /// Whether one key can begin with both.
    const fn is_related(self, other: Self) -> bool {
        match (self.is_whole, other.is_whole) {
            (true, true) => same(self.text, other.text),
            (true, false) => begins(self.text, other.text),
            (false, true) => begins(other.text, self.text),
            (false, false) => begins(self.text, other.text) || begins(other.text, self.text),
        }
    }
}

pub(crate) const fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && begins(one, other)
}

/// Whether `text` begins with `prefix`.
pub(crate) const fn begins(text: &str, prefix: &str) -> bool {
    let (text, prefix) = (text.as_bytes(), prefix.as_bytes());
    if prefix.len() > text.len() {
        return false;
    }
    let mut at = 0;
    while at < prefix.len() {
        if text[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Holds, IndexInfo, Layout, PartInfo, Scope, layout::change::written};

    const TEXT: PartInfo = PartInfo { field: "text", kind: "text", encoding: "plain", self_delimiting: false };
    const NUMBER: PartInfo = PartInfo { field: "number", kind: "u32", encoding: "plain", self_delimiting: true };

    /// Layouts of every shape that the rule looks at.
    fn layouts() -> Vec<&'static LayoutInfo> {
        let mut layouts = Vec::new();
        for partition_prefix in ["", "all"] {
            for partition in [[].as_slice(), &[TEXT]] {
                for row_prefix in ["", "id-", "id-x", "name-"] {
                    for row in [[].as_slice(), &[TEXT], &[NUMBER, TEXT]] {
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
            .flat_map(|layout| [None, Some("Kind")].map(|kind| (*layout, kind)))
            .map(|(layout, kind)| {
                let layouts = std::slice::from_ref(layout);
                let entity =
                    Layout { entity: "Entity", layouts, properties: &[], kind, write_id: false, separator: None };
                (Standing::of(layout, kind.is_some()), written(&entity, layout))
            })
            .collect();
        let mut meetings = 0;
        for (one, written) in &standings {
            for (other, also_written) in &standings {
                let meet = one.may_meet(*other);
                assert_eq!(meet, Standing::recorded(written).may_meet(Standing::recorded(also_written)));
                assert_eq!(meet, other.may_meet(*one), "{one:?} {other:?}");
                meetings += usize::from(meet);
            }
        }
        assert!(meetings > 0 && meetings < standings.len().pow(2));
    }

    #[test]
    fn prefixes_tell_rows_apart() {
        let index = |prefix: &str| serde_json::json!({ "index": {}, "row_prefix": prefix, "row": [{}] });
        let own =
            |prefix: &str, kind: Option<&str>| serde_json::json!({ "row_prefix": prefix, "row": [{}], "kind": kind });
        let meet = |one: &Value, other: &Value| Standing::recorded(one).may_meet(Standing::recorded(other));
        assert!(meet(&index("name-"), &index("name-")));
        assert!(meet(&index("name-"), &index("na")));
        assert!(!meet(&index("name-"), &index("mail-")));
        assert!(meet(&index("name-"), &own("", None)));
        assert!(!meet(&index("name-"), &own("", Some("Post"))));
        assert!(!meet(&own("id-", None), &own("id-", None)), "they are told apart by their shapes, or are one kind");
    }
}
