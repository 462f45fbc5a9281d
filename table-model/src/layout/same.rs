//! Comparisons of two layouts: of an entity and its older version, and of two variants of a group.

use super::{
    const_str::{items, same, text},
    info::{Layout, LayoutInfo, PartInfo},
};

/// Checks whether the rows of both have the same kind.
pub const fn same_kind(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => same(one, other),
        _ => false,
    }
}

/// Checks whether both have the same delimiter for all keys, or none.
pub const fn same_separator(one: Option<char>, other: Option<char>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Checks whether the rows of both are stored in the same table, or in the same slices.
pub const fn same_table(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    let is_same_slice = match (&one.slice, &other.slice) {
        (None, None) => true,
        // The fields may have other names, but not other places in the key.
        (Some(by), Some(other_by)) => {
            by.unit as u8 == other_by.unit as u8
                && part_of(one, text(&by.field)) == part_of(other, text(&other_by.field))
        }
        _ => false,
    };
    same(text(&one.table), text(&other.table)) && is_same_slice
}

/// Checks whether the primary keys of both are built in the same way. The names of the fields may differ.
pub const fn same_primary_key(one: &Layout, other: &Layout) -> bool {
    let (key, other_key) = (&one.layouts[0], &other.layouts[0]);
    same_separator(one.separator(), other.separator())
        && same(text(&key.partition_prefix), text(&other_key.partition_prefix))
        && same(text(&key.row_prefix), text(&other_key.row_prefix))
        && same_parts(items(&key.partition), items(&other_key.partition))
        && same_parts(items(&key.row), items(&other_key.row))
}

const fn same_parts(one: &[PartInfo], other: &[PartInfo]) -> bool {
    one.len() == other.len() && first_difference(one, other).is_none()
}

/// Returns the number of the first part that both have and encode differently. The names of the fields may differ.
pub const fn first_difference(one: &[PartInfo], other: &[PartInfo]) -> Option<usize> {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if !same(text(&one[at].kind), text(&other[at].kind))
            || !same(text(&one[at].encoding), text(&other[at].encoding))
        {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Returns the position of a field's first part, counted over both keys.
const fn part_of(layout: &LayoutInfo, field: &str) -> usize {
    let (partition, row, mut at) = (items(&layout.partition), items(&layout.row), 0);
    while at < partition.len() + row.len() {
        let part = if at < partition.len() { &partition[at] } else { &row[at - partition.len()] };
        if same(text(&part.field), field) {
            return at;
        }
        at += 1;
    }
    at
}
