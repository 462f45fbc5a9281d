//! How a row key shows whose it is, where several entities share a table and have no kinds.

use super::{LayoutInfo, PartInfo};

/// The row keys of an entity, as the number of their parts tells them from those of others: a master's `{id}` from its
/// items' `{id}_{item id}`.
///
/// It can be told as far as the parts tell their own end: in them there is no joint.
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
        match parts {
            [PartInfo { self_delimiting: true, .. }, ..] => Some(Self { prefix, parts, separator }),
            _ => None,
        }
    }

    /// Whether a row key is not one of another entity. One that is none at all may still be of this shape: who reads it
    /// says what is wrong.
    pub(crate) fn fits(&self, row_key: &str) -> bool {
        let Some(mut rest) = row_key.strip_prefix(self.prefix) else { return false };
        for (at, part) in self.parts.iter().enumerate() {
            if !part.self_delimiting {
                return true;
            }
            let is_last = at + 1 == self.parts.len();
            match rest.split_once(part.joint(self.separator)) {
                None => return is_last,
                Some(_) if is_last => return false,
                Some((_, after)) => rest = after,
            }
        }
        true
    }
}
