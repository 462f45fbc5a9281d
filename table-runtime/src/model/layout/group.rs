//! Members of a group of entities, and the rules that keep their rows apart.

use super::{
    collision::KeyPattern,
    const_str::{begins, same},
    info::{Layout, LayoutInfo, PartInfo},
    segments,
};

/// A variant's entity: how it is stored, and the one other fact about its type that the rules of groups need. The rules are
/// checked at compile time, without the traits of entities.
#[derive(Debug)]
pub struct Member {
    pub(crate) layout: &'static Layout,
    skips_newer: bool,
}

/// Reason why a variant cannot be in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// No reason: the variant fits.
    No,
    /// The variant is stored in another table than the master.
    Table,
    /// The variant or the master is stored in table slices, so a master and its items may be in different tables.
    Slice,
    /// The variant's partition key is built differently from the master's.
    Partition,
    /// The partition is a hash bucket, and rows of a master in other buckets would not be read.
    Hash,
    /// The variant's row key does not begin with the master's.
    Row,
    /// The master's row key begins with the variant's: the variant is the master.
    Order,
    /// A part of a key differs, or the prefix of the row keys.
    Differs(Difference),
    /// The master's row key is not self-delimiting.
    Open,
    /// The master's row key is a constant, and the table holds index rows, which would lie among its items.
    Indexes,
    /// The variant or the master skips rows of a newer version, but a group reads all rows of the partition.
    SkipsNewer,
    /// Either the variant or the master has a kind, and the other has none.
    Kinds,
    /// An earlier variant has the same kind.
    SameKind,
    /// The variant's rows cannot be distinguished from those of an earlier variant.
    Alike,
    /// Rows of an index could be taken for those of an earlier variant's index.
    Collision(Collision),
}

/// First difference between the keys of a variant and of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the variant.
    member: usize,
    place: DifferingPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DifferingPlace {
    /// The prefix of the row keys.
    Prefix,
    /// The part of the partition key with this number.
    Partition(usize),
    /// The part of the row key with this number.
    Row(usize),
}

/// Two indexes whose rows could be taken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision {
    /// Number of the variant, and number of the index among its layouts.
    one: (usize, usize),
    /// The same numbers for the earlier variant.
    other: (usize, usize),
}

impl Member {
    /// Returns the member of an entity that is stored like this.
    pub(crate) const fn new(layout: &'static Layout, skips_newer: bool) -> Self {
        Self { layout, skips_newer }
    }

    pub(crate) const fn key(&self) -> &'static LayoutInfo {
        &self.layout.layouts[0]
    }

    /// Checks whether rows of its indexes are stored in the group's table.
    const fn has_index_rows(&self) -> bool {
        self.index_in_table().is_some()
    }

    /// Returns its first index whose rows are stored in the group's table.
    const fn index_in_table(&self) -> Option<&'static LayoutInfo> {
        let (layouts, mut at) = (self.layout.layouts, 1);
        while at < layouts.len() {
            if same(layouts[at].table, self.key().table) {
                return Some(&layouts[at]);
            }
            at += 1;
        }
        None
    }

    /// Checks whether a row key has the shape of this member's row keys.
    pub(crate) fn has_shape(&self, row_key: &str) -> bool {
        let layout = self.key();
        let Some(rest) = row_key.strip_prefix(layout.row_prefix) else { return false };
        let Some((_, before)) = layout.row.split_last() else { return rest.is_empty() };
        segments::skip(rest, before, self.layout.separator).is_ok()
    }
}

/// Returns the reason why the variant of this number cannot be in the group; [`Misfit::No`] if it can.
pub const fn member_misfit(members: &[Member], number: usize) -> Misfit {
    let (master, member) = (&members[0], &members[number]);
    let (first, key) = (master.key(), member.key());
    if !same(first.table, key.table) {
        return Misfit::Table;
    }
    if first.slice.is_some() || key.slice.is_some() {
        return Misfit::Slice;
    }
    if master.skips_newer || member.skips_newer {
        return Misfit::SkipsNewer;
    }
    match partition_misfit(master, member, number) {
        Misfit::No => {}
        misfit => return misfit,
    }
    match row_misfit(first, key, number) {
        Misfit::No => {}
        misfit => return misfit,
    }
    if first.row.is_empty() && (master.has_index_rows() || member.has_index_rows()) {
        return Misfit::Indexes;
    }
    if master.layout.kind.is_some() != member.layout.kind.is_some() {
        return Misfit::Kinds;
    }
    let mut before = 0;
    while before < number {
        match (members[before].layout.kind, member.layout.kind) {
            (Some(one), Some(other)) if same(one, other) => return Misfit::SameKind,
            (None, None) if !differ(members[before].key(), key) => return Misfit::Alike,
            _ => {}
        }
        before += 1;
    }
    match collision(members, number) {
        Some(collision) => Misfit::Collision(collision),
        None => Misfit::No,
    }
}

/// Returns the reason why the variant's entities are not in the master's partition.
const fn partition_misfit(master: &Member, member: &Member, number: usize) -> Misfit {
    let (first, key) = (master.key(), member.key());
    let separated = match (master.layout.separator, member.layout.separator) {
        (None, None) => true,
        (Some(one), Some(other)) => one == other,
        _ => false,
    };
    let parts = first.partition.len();
    if !separated || !same(first.partition_prefix, key.partition_prefix) || parts != key.partition.len() {
        return Misfit::Partition;
    }
    if let Some(part) = first_difference(first.partition, key.partition, parts) {
        return Misfit::Differs(Difference { member: number, place: DifferingPlace::Partition(part) });
    }
    if is_hashed(first.partition) { Misfit::Hash } else { Misfit::No }
}

/// Returns the reason why the variant's row key does not continue the master's.
const fn row_misfit(first: &LayoutInfo, key: &LayoutInfo, number: usize) -> Misfit {
    let shared = first.row.len();
    if shared == 0 {
        return Misfit::No;
    }
    if key.row.is_empty() {
        return Misfit::Row;
    }
    if !same(first.row_prefix, key.row_prefix) {
        return Misfit::Differs(Difference { member: number, place: DifferingPlace::Prefix });
    }
    let common = if shared < key.row.len() { shared } else { key.row.len() };
    if let Some(part) = first_difference(first.row, key.row, common) {
        return Misfit::Differs(Difference { member: number, place: DifferingPlace::Row(part) });
    }
    if common < shared {
        return Misfit::Order;
    }
    if self_delimiting(first.row, shared) { Misfit::No } else { Misfit::Open }
}

/// Finds the variant's first index whose rows could be taken for those of an earlier variant's index. The variants' own
/// rows need no check here: they all begin alike, and no variant has an index whose rows begin like them.
const fn collision(members: &[Member], number: usize) -> Option<Collision> {
    let layouts = members[number].layout.layouts;
    let mut before = 0;
    while before < number {
        let (others, mut own) = (members[before].layout.layouts, 1);
        while own < layouts.len() {
            let mut other = 1;
            while other < others.len() {
                let (one, another) = (&layouts[own], &others[other]);
                if same(one.table, another.table) && KeyPattern::of(one).may_collide(KeyPattern::of(another)) {
                    return Some(Collision { one: (number, own), other: (before, other) });
                }
                other += 1;
            }
            own += 1;
        }
        before += 1;
    }
    None
}

impl Collision {
    /// Returns a message that states what to change; `names` are the names of the variants.
    pub const fn message(&self, members: &[Member], names: &[&str]) -> Message {
        let ((variant, index), (earlier, earlier_index)) = (self.one, self.other);
        let one = &members[variant].layout.layouts[index];
        let other = &members[earlier].layout.layouts[earlier_index];
        Message::new()
            .and("in the table `")
            .and(one.table)
            .and("` rows of ")
            .and_rows(one, names[variant])
            .and(" could be taken for rows of ")
            .and_rows(other, names[earlier])
            .and("; write `prefix = \"…\"` in the indexes: of two prefixes neither may begin with the other")
    }
}

impl Difference {
    /// Returns a message that states what to change; `names` are the names of the variants.
    pub const fn message(&self, members: &[Member], names: &[&str]) -> Message {
        let (master, member) = (&members[0], &members[self.member]);
        let (first, name) = (names[0], names[self.member]);
        match self.place {
            DifferingPlace::Prefix => {
                let (prefix, other) = (master.key().row_prefix, member.key().row_prefix);
                // A missing prefix is the easier one to add.
                let (lacking, text) = if prefix.is_empty() { (first, other) } else { (name, prefix) };
                let adding = if prefix.is_empty() { member.index_in_table() } else { master.index_in_table() };
                let message = Message::new()
                    .and("the row keys of `")
                    .and(name)
                    .and("` begin with `")
                    .and(other)
                    .and("`, those of `")
                    .and(first)
                    .and("` with `")
                    .and(prefix)
                    .and("`");
                let message = match adding {
                    Some(index) => message
                        .and(" (the index `")
                        .and(index.name)
                        .and("` in the same table adds a prefix, unless one is written)"),
                    None => message,
                };
                message
                    .and("; write `#[row_key(prefix = \"")
                    .and(text)
                    .and("\")]` on the first row key field of `")
                    .and(lacking)
                    .and("`")
            }
            DifferingPlace::Partition(at) => Message::new()
                .and("the partition keys of `")
                .and(name)
                .and("` and `")
                .and(first)
                .and("` differ: ")
                .and_parts(&member.key().partition[at], &master.key().partition[at]),
            DifferingPlace::Row(at) => Message::new()
                .and("the row key of `")
                .and(name)
                .and("` does not begin like that of `")
                .and(first)
                .and("`, which is the master because it is the first variant: ")
                .and_parts(&member.key().row[at], &master.key().row[at])
                .and(", or write the master as the first variant"),
        }
    }
}

/// Text that is built at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    text: [u8; 1024],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self { text: [0; 1024], len: 0 }
    }

    /// Appends a text if there is room.
    const fn and(mut self, more: &str) -> Self {
        if self.len + more.len() <= self.text.len() {
            let (_, rest) = self.text.split_at_mut(self.len);
            rest.split_at_mut(more.len()).0.copy_from_slice(more.as_bytes());
            self.len += more.len();
        }
        self
    }

    /// Appends a description of the index: its name, its variant and the beginning of its rows' keys.
    const fn and_rows(self, index: &LayoutInfo, variant: &str) -> Self {
        self.and("the index `").and(index.name).and("` of `").and(variant).and("` (`").and(index.row_prefix).and("…`)")
    }

    /// Appends the description of two parts that differ, and what to change.
    const fn and_parts(self, one: &PartInfo, other: &PartInfo) -> Self {
        self.and_part(one).and(" and ").and_part(other).and("; give both the same type and the same encoding")
    }

    const fn and_part(self, part: &PartInfo) -> Self {
        self.and("`").and(part.field).and("` (").and(part.kind).and(", ").and(part.encoding).and(")")
    }

    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        // Always valid UTF-8, because only whole texts are appended.
        match std::str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "rows of two indexes could collide",
        }
    }
}

/// Checks whether no row key of one layout can be taken for one of the other. `_` separates self-delimiting parts, and
/// never occurs in them.
const fn differ(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    if !same(one.row_prefix, other.row_prefix) {
        return !begins(one.row_prefix, other.row_prefix) && !begins(other.row_prefix, one.row_prefix);
    }
    let (shorter, longer) = if one.row.len() < other.row.len() { (one, other) } else { (other, one) };
    let count = shorter.row.len();
    count < longer.row.len() && self_delimiting(shorter.row, count) && self_delimiting(longer.row, count)
}

/// Checks whether the last part is a hash, which only distributes rows over partitions.
const fn is_hashed(partition: &[PartInfo]) -> bool {
    matches!(partition.last(), Some(last) if last.parsed().hash.is_some())
}

const fn self_delimiting(parts: &[PartInfo], count: usize) -> bool {
    let mut at = 0;
    while at < count {
        if !parts[at].self_delimiting {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the first of `count` parts that are not encoded alike. Their fields may have other names.
const fn first_difference(one: &[PartInfo], other: &[PartInfo], count: usize) -> Option<usize> {
    let mut at = 0;
    while at < count {
        if !same(one[at].kind, other[at].kind) || !same(one[at].encoding, other[at].encoding) {
            return Some(at);
        }
        at += 1;
    }
    None
}
