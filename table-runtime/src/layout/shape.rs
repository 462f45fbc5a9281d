//! Shapes of row keys. They show to which entity a row belongs if several entities without kinds share a table.

use super::{
    info::{LayoutInfo, PartInfo, may_be_empty},
    segments,
};

/// Shape of an entity's row keys. The number of their parts distinguishes them from those of other entities: a master's
/// `{id}` from its items' `{id}_{item id}`.
///
/// Only self-delimiting parts can be counted, because they contain no delimiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    prefix: &'static str,
    parts: &'static [PartInfo],
    separator: Option<char>,
}

impl Shape {
    /// Returns the shape of a layout's row keys; `None` if any row key may belong to the layout.
    pub(crate) const fn of(layout: &LayoutInfo, separator: Option<char>) -> Option<Self> {
        let (prefix, parts) = (layout.row_prefix, layout.row);
        if may_be_empty(parts) { None } else { Some(Self { prefix, parts, separator }) }
    }

    /// Returns `false` if the row key certainly belongs to another entity: one with the same parts, and more or fewer
    /// of them. A malformed key fits too; the code that reads it reports the error.
    pub(crate) fn fits(&self, row_key: &str) -> bool {
        let Some(mut rest) = row_key.strip_prefix(self.prefix).filter(|rest| !rest.is_empty()) else { return false };
        for (at, part) in self.parts.iter().enumerate() {
            let is_last = at + 1 == self.parts.len();
            let (text, after) = segments::split(rest, part.delimiter(self.separator));
            if !part.self_delimiting || !may_be(part, text) {
                return true;
            }
            match after {
                None => return is_last,
                Some(_) if is_last => return false,
                Some(after) => rest = after,
            }
        }
        true
    }
}

/// Checks whether a text may be the encoding of a self-delimiting part.
fn may_be(part: &PartInfo, text: &str) -> bool {
    let is_guid = part.kind == "guid";
    let may_hold = |byte: u8| byte == b'-' || if is_guid { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    !text.is_empty() && text.bytes().all(may_hold)
}
