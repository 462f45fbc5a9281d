//! How a row key shows whose it is, where several entities share a table and have no kinds.

use super::{
    info::{LayoutInfo, PartInfo, may_be_empty},
    segments,
};

/// The row keys of an entity, as the number of their parts tells them from those of others: a master's `{id}` from its
/// items' `{id}_{item id}`.
///
/// It can be told as far as the parts tell their own end: in them there is no delimiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    prefix: &'static str,
    parts: &'static [PartInfo],
    separator: Option<char>,
}

impl Shape {
    /// That of the rows of a layout; `None` if any row may be of it.
    pub(crate) const fn of(layout: &LayoutInfo, separator: Option<char>) -> Option<Self> {
        let (prefix, parts) = (layout.row_prefix, layout.row);
        if may_be_empty(parts) { None } else { Some(Self { prefix, parts, separator }) }
    }

    /// Whether a row key is not one of another entity: one with the same parts, and more or fewer of them. What is no key
    /// of any of them fits too, and who reads it says what is wrong.
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

/// Whether a text may be that of a part that tells its own end.
fn may_be(part: &PartInfo, text: &str) -> bool {
    let is_guid = part.kind == "guid";
    let may_hold = |byte: u8| byte == b'-' || if is_guid { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    !text.is_empty() && text.bytes().all(may_hold)
}
