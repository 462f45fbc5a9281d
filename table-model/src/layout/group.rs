//! Members of a group of entities, and the rules that keep their rows apart.

use super::{
    collision::KeyPattern,
    const_str::{begins, items, same, text},
    encoding::Encoding,
    info::{Layout, LayoutInfo, PartInfo},
    same::{first_difference, same_kind, same_separator},
    segments,
};
use crate::message::{Message, stop};

/// A variant's entity: how it is stored, and the one other fact about its type that the rules of groups need. The rules are
/// checked at compile time, without the traits of entities.
#[derive(Debug)]
pub struct Member {
    /// How the entity is stored.
    pub layout: &'static Layout,
    skips_newer: bool,
}

impl Member {
    /// Returns the member of an entity that is stored like this.
    pub const fn new(layout: &'static Layout, skips_newer: bool) -> Self {
        Self { layout, skips_newer }
    }

    /// Returns the primary key.
    pub const fn key(&self) -> &'static LayoutInfo {
        &self.layout.layouts[0]
    }

    /// Returns its first index whose rows are stored in the group's table.
    const fn index_in_table(&self) -> Option<&'static LayoutInfo> {
        let (layouts, mut at) = (self.layout.layouts, 1);
        while at < layouts.len() {
            if same(text(&layouts[at].table), text(&self.key().table)) {
                return Some(&layouts[at]);
            }
            at += 1;
        }
        None
    }

    /// Checks whether a row key has the shape of this member's row keys.
    pub fn has_shape(&self, row_key: &str) -> bool {
        let layout = self.key();
        let Some(rest) = row_key.strip_prefix(&*layout.row_prefix) else { return false };
        let Some((_, before)) = layout.row.split_last() else { return rest.is_empty() };
        segments::skip(layout, rest, before).is_ok()
    }
}

/// Stops the build if the variant of this number cannot be in the group. `names` are the names of the variants.
#[track_caller]
pub const fn check_member(members: &[Member], number: usize, names: &[&str]) {
    let (master, member, both) = (&members[0], &members[number], &[names[0], names[number]]);
    let (first, key) = (master.key(), member.key());
    if !same(text(&first.table), text(&key.table)) {
        stop("`{1}` is in another table than `{0}`; write the same `#[table(name = …)]` on both", both);
    }
    if first.slice.is_some() || key.slice.is_some() {
        stop("`{0}` or `{1}` has table slices, which one query cannot read as a group; remove `slice`", both);
    }
    if master.skips_newer || member.skips_newer {
        stop(
            "`{0}` or `{1}` skips rows of a newer version, but a group reads every row of its partition; remove \
             `skip_newer`, or query `{0}` and `{1}` separately",
            both,
        );
    }
    check_partition_key(master, member, both);
    check_row_key(master, member, both);
    if items(&first.row).is_empty() && (master.index_in_table().is_some() || member.index_in_table().is_some()) {
        stop(
            "the row key of `{0}` is a constant, so the group would contain index rows; add a key field, or move the \
             indexes of both into other tables",
            both,
        );
    }
    if master.layout.kind().is_some() != member.layout.kind().is_some() {
        stop("only one of `{0}` and `{1}` has a kind; write `#[table(kind)]` on both", both);
    }
    let mut before = 0;
    while before < number {
        let earlier = &members[before];
        if same_kind(earlier.layout.kind(), member.layout.kind()) {
            if member.layout.kind().is_some() {
                stop("`{1}` has the kind of another variant; write `#[table(kind = …)]` with another name", both);
            }
            if !differ(earlier.key(), key) {
                stop(
                    "rows of `{1}` cannot be distinguished from rows of another variant by the parts of their keys; \
                     write `#[table(kind)]` on all of them, and never give two of them the same key, because they would \
                     be one row",
                    both,
                );
            }
        }
        check_index_rows(member, earlier, &[names[number], names[before]]);
        before += 1;
    }
}

/// Checks that the variant's entities are in the master's partition.
#[track_caller]
const fn check_partition_key(master: &Member, member: &Member, names: &[&str; 2]) {
    let (first, key) = (master.key(), member.key());
    if !same_separator(master.layout.separator(), member.layout.separator())
        || !same(text(&first.partition_prefix), text(&key.partition_prefix))
        || items(&first.partition).len() != items(&key.partition).len()
    {
        stop(
            "the partition keys of `{1}` and `{0}` have other numbers of parts, other constants or other separators; \
             give both the same",
            names,
        );
    }
    if let Some(at) = first_difference(items(&first.partition), items(&key.partition)) {
        stop(
            "the partition keys of `{1}` and `{0}` differ: {2}",
            &[names[0], names[1], both_parts(&items(&key.partition)[at], &items(&first.partition)[at]).as_str()],
        );
    }
    // A hash only distributes rows over partitions.
    if matches!(items(&first.partition).last(), Some(last) if Encoding::of(last).hash.is_some()) {
        stop(
            "the partition key of `{0}` has a `hash`, but a group is read from one partition, which would contain only \
             some of the rows; remove `hash`, or query `{0}` and `{1}` separately",
            names,
        );
    }
}

/// Checks that the variant's row key continues the master's.
#[track_caller]
const fn check_row_key(master: &Member, member: &Member, names: &[&str; 2]) {
    let (first, key) = (master.key(), member.key());
    if items(&first.row).is_empty() {
        return;
    }
    if items(&key.row).is_empty() {
        stop(
            "the row key of `{1}` is a constant, and does not begin like that of `{0}`, which is the master because it \
             is the first variant; begin it with the parts of the master's row key",
            names,
        );
    }
    if !same(text(&first.row_prefix), text(&key.row_prefix)) {
        // A missing prefix is the easier one to add.
        let (lacking, adding, prefix) = if text(&first.row_prefix).is_empty() {
            (names[0], member, text(&key.row_prefix))
        } else {
            (names[1], master, text(&first.row_prefix))
        };
        let reason = match adding.index_in_table() {
            Some(index) => Message::new(
                " (the index `{0}` in the same table adds a prefix, unless one is written)",
                &[text(&index.name)],
            ),
            None => Message::new("", &[]),
        };
        stop(
            "the row keys of `{1}` begin with `{3}`, those of `{0}` with `{2}`{4}; write \
             `#[row_key(prefix = \"{5}\")]` on the first row key field of `{6}`",
            &[names[0], names[1], text(&first.row_prefix), text(&key.row_prefix), reason.as_str(), prefix, lacking],
        );
    }
    if let Some(at) = first_difference(items(&first.row), items(&key.row)) {
        stop(
            "the row key of `{1}` does not begin like that of `{0}`, which is the master because it is the first \
             variant: {2}, or write the master as the first variant",
            &[names[0], names[1], both_parts(&items(&key.row)[at], &items(&first.row)[at]).as_str()],
        );
    }
    if items(&key.row).len() < items(&first.row).len() {
        stop(
            "the row key of `{0}` begins with that of `{1}`, so `{1}` is the master; write it as the first variant",
            names,
        );
    }
    if !self_delimiting(items(&first.row)) {
        stop(
            "the row key of `{0}` contains a text, whose end is not marked, so rows with a longer text would be read as \
             items; write an integer, an id or a time instead, or move the text into the partition key",
            names,
        );
    }
}

/// Checks that rows of the variant's indexes cannot be taken for those of an earlier variant's indexes. The variants' own
/// rows need no check here: they all begin alike, and no variant has an index whose rows begin like them.
#[track_caller]
const fn check_index_rows(member: &Member, earlier: &Member, names: &[&str; 2]) {
    let (layouts, others, mut own) = (member.layout.layouts, earlier.layout.layouts, 1);
    while own < layouts.len() {
        let mut other = 1;
        while other < others.len() {
            let (one, another) = (&layouts[own], &others[other]);
            if same(text(&one.table), text(&another.table)) && KeyPattern::of(one).may_collide(KeyPattern::of(another))
            {
                stop(
                    "in the table `{0}` rows of {1} could be taken for rows of {2}; write `prefix = \"…\"` in the \
                     indexes: of two prefixes neither may begin with the other",
                    &[text(&one.table), index_rows(one, names[0]).as_str(), index_rows(another, names[1]).as_str()],
                );
            }
            other += 1;
        }
        own += 1;
    }
}

/// Describes an index: its name, its variant and the beginning of its rows' keys.
const fn index_rows(index: &LayoutInfo, variant: &str) -> Message {
    Message::new("the index `{0}` of `{1}` (`{2}…`)", &[text(&index.name), variant, text(&index.row_prefix)])
}

/// Describes two parts that differ, and what to change.
const fn both_parts(one: &PartInfo, other: &PartInfo) -> Message {
    Message::new(
        "`{0}` ({1}, {2}) and `{3}` ({4}, {5}); give both the same type and the same encoding",
        &[
            text(&one.field),
            text(&one.kind),
            text(&one.encoding),
            text(&other.field),
            text(&other.kind),
            text(&other.encoding),
        ],
    )
}

/// Checks whether no row key of one layout can be taken for one of the other. `_` separates self-delimiting parts, and
/// never occurs in them.
const fn differ(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    let (prefix, other_prefix) = (text(&one.row_prefix), text(&other.row_prefix));
    if !same(prefix, other_prefix) {
        return !begins(prefix, other_prefix) && !begins(other_prefix, prefix);
    }
    let (one, other) = (items(&one.row), items(&other.row));
    let (shorter, longer) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let count = shorter.len();
    count < longer.len() && self_delimiting(shorter) && self_delimiting(longer.split_at(count).0)
}

const fn self_delimiting(parts: &[PartInfo]) -> bool {
    let mut at = 0;
    while at < parts.len() {
        if !parts[at].self_delimiting {
            return false;
        }
        at += 1;
    }
    true
}
