//! Entities of several kinds in one partition, read by one query: a master and its items.

use super::{Done, Found, Opening, Part, Primary, Rows, View, plan::Plan, visible::Visible};
use crate::{
    LayoutInfo, PartInfo, Result, RowRef, Stored, TableEntity, ValueRef, entity,
    key::{Encode, KeyPart, PartSink},
    layout::{Standing, begins, same, segments},
};

/// An enum of entities that share a table and a partition: `#[derive(EntityGroup)]`.
pub trait EntityGroup: View<Item = Self> + Send {
    /// The variants, the master first.
    #[doc(hidden)]
    const MEMBERS: &'static [Member];

    /// Reads the row of a variant, by its number.
    #[doc(hidden)]
    fn read(variant: usize, table: &str, row: RowRef<'_>) -> Result<Self>;
}

/// What a variant of a group holds: an entity, or it as [`Stored`], to be updated or deleted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a group of entities",
    label = "not a table entity",
    note = "a variant holds an entity, a struct with `#[derive(TableEntity)]`, or `Stored<…>` of one"
)]
pub trait Variant {
    /// The entity.
    type Entity: TableEntity;

    #[doc(hidden)]
    fn of(stored: Stored<Self::Entity>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for E {
    type Entity = E;

    fn of(stored: Stored<E>) -> E {
        Stored::into_inner(stored)
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for Stored<E> {
    type Entity = E;

    fn of(stored: Self) -> Self {
        stored
    }
}

/// Reads a variant.
pub fn variant<V: Variant>(table: &str, row: RowRef<'_>) -> Result<V> {
    entity::read(table, row).map(V::of)
}

/// The parts of an entity's two keys, as types: of a trait's own types, private ones of a public entity could not be.
pub trait Keyed<P, R>: TableEntity {}

/// The parts of a partition key, whose values a query is opened with: one by itself, several as a tuple.
pub trait PartitionParts {
    /// The values.
    type Args<'a>;

    #[doc(hidden)]
    fn open<E>(args: Self::Args<'_>, opening: Opening<E>) -> Opening<E>;
}

macro_rules! partition_parts {
    ($parts:ty, $args:ty; $($t:ident $n:ident $value:ident $last:literal),*) => {
        impl<$($t: KeyPart, $n: Encode<$t::Kind>),*> PartitionParts for $parts {
            type Args<'a> = $args;

            #[allow(unused_parens, unused_mut, reason = "of one value, or of none")]
            fn open<E>(($($value),*): Self::Args<'_>, mut opening: Opening<E>) -> Opening<E> {
                $(opening.push_partition::<$t::Kind, $n, $last>($t::arg_value($value));)*
                opening
            }
        }
    };
}

partition_parts!((), (););
partition_parts!((Part<A, M>, ()), A::Arg<'a>; A M a true);
partition_parts!((Part<A, M>, (Part<B, N>, ())), (A::Arg<'a>, B::Arg<'a>); A M a false, B N b true);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, ()))), (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>);
    A M a false, B N b false, C O c true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, ())))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>);
    A M a false, B N b false, C O c false, D P d true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, (Part<F, Q>, ()))))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>, F::Arg<'a>);
    A M a false, B N b false, C O c false, D P d false, F Q f true
);
partition_parts!(
    (Part<A, M>, (Part<B, N>, (Part<C, O>, (Part<D, P>, (Part<F, Q>, (Part<G, R>, ())))))),
    (A::Arg<'a>, B::Arg<'a>, C::Arg<'a>, D::Arg<'a>, F::Arg<'a>, G::Arg<'a>);
    A M a false, B N b false, C O c false, D P d false, F Q f false, G R g true
);

/// The parts of the master's row key, with which its items' begin.
pub trait SharedParts {
    /// The same, after which no query is a point.
    type Open;
}

impl SharedParts for Primary {
    type Open = Done;
}

impl<T, N, R: SharedParts> SharedParts for (Part<T, N>, R) {
    type Open = (Part<T, N>, R::Open);
}

/// The rows of a group's partition.
pub fn group_rows<G, E, P, R>(partition: P::Args<'_>) -> Rows<G, R::Open>
where
    G: EntityGroup,
    E: Keyed<P, R>,
    P: PartitionParts,
    R: SharedParts,
{
    let opening = Opening::<E>::group(const { Visible::of_group(G::MEMBERS) });
    P::open(partition, opening).rows()
}

/// What is known of a variant's entity.
#[derive(Debug)]
pub struct Member {
    layouts: &'static [LayoutInfo],
    pub(super) kind: Option<&'static str>,
    separator: Option<char>,
}

/// Why a variant cannot be in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// None.
    No,
    /// It stands in another table than the master.
    Table,
    /// It or the master stands in table slices: its items may stand in others.
    Slice,
    /// Its partition key is made otherwise.
    Partition,
    /// Its partition is a bucket of a hash, and a master's rows in others are not read.
    Hash,
    /// Its row key does not begin with the master's.
    Row,
    /// The master's row key does not tell its end.
    Open,
    /// Index rows stand in the table of a master whose key is a constant, among its items'.
    Indexes,
    /// It has a kind and the master has none, or the other way round.
    Kinds,
    /// It has the kind of a variant before it.
    SameKind,
    /// Its rows may look like those of a variant before it.
    Alike,
    /// Rows of an index may look like those of an index of a variant before it.
    Meeting(Meeting),
}

/// Two indexes of which rows may be taken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The variant, and the index's number among its layouts.
    one: (usize, usize),
    /// Those of a variant before it.
    other: (usize, usize),
}

impl Member {
    /// The member that an entity is.
    pub const fn of<V: Variant>() -> Self {
        Self {
            layouts: <V::Entity as TableEntity>::LAYOUTS,
            kind: <V::Entity as TableEntity>::KIND,
            separator: <V::Entity as TableEntity>::SEPARATOR,
        }
    }

    const fn key(&self) -> &'static LayoutInfo {
        &self.layouts[0]
    }

    pub(super) const fn layouts(&self) -> &'static [LayoutInfo] {
        self.layouts
    }

    /// Whether rows of its indexes stand in the group's table.
    const fn has_index_rows(&self) -> bool {
        let mut at = 1;
        while at < self.layouts.len() {
            if same(self.layouts[at].table, self.key().table) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Whether the row key is of this shape.
    fn has_shape(&self, row_key: &str) -> bool {
        let layout = self.key();
        let Some(rest) = row_key.strip_prefix(layout.row_prefix) else { return false };
        let Some((_, before)) = layout.row.split_last() else { return rest.is_empty() };
        segments::skip(rest, before, self.separator).is_ok()
    }
}

/// Why the variant of this number cannot be in the group.
pub const fn member_misfit(members: &[Member], number: usize) -> Misfit {
    let (master, member) = (&members[0], &members[number]);
    let (first, key) = (master.key(), member.key());
    let shared = first.row.len();
    let separated = match (master.separator, member.separator) {
        (None, None) => true,
        (Some(one), Some(other)) => one == other,
        _ => false,
    };
    if !same(first.table, key.table) {
        return Misfit::Table;
    }
    if first.slice.is_some() || key.slice.is_some() {
        return Misfit::Slice;
    }
    let partition = first.partition.len();
    if !separated
        || !same(first.partition_prefix, key.partition_prefix)
        || partition != key.partition.len()
        || !begin_alike(first.partition, key.partition, partition)
    {
        return Misfit::Partition;
    }
    if is_hashed(first.partition) {
        return Misfit::Hash;
    }
    let begins = shared == 0
        || same(first.row_prefix, key.row_prefix) && shared <= key.row.len() && begin_alike(first.row, key.row, shared);
    if !begins {
        return Misfit::Row;
    }
    if !self_delimiting(first.row, shared) {
        return Misfit::Open;
    }
    if shared == 0 && (master.has_index_rows() || member.has_index_rows()) {
        return Misfit::Indexes;
    }
    if master.kind.is_some() != member.kind.is_some() {
        return Misfit::Kinds;
    }
    let mut before = 0;
    while before < number {
        match (members[before].kind, member.kind) {
            (Some(one), Some(other)) if same(one, other) => return Misfit::SameKind,
            (None, None) if !differ(members[before].key(), key) => return Misfit::Alike,
            _ => {}
        }
        before += 1;
    }
    match meeting(members, number) {
        Some(meeting) => Misfit::Meeting(meeting),
        None => Misfit::No,
    }
}

/// The first index of the variant of which rows may be taken for those of an index of one before it. The variants' own
/// rows begin alike, and no index of one of them begins so.
const fn meeting(members: &[Member], number: usize) -> Option<Meeting> {
    let member = &members[number];
    let mut before = 0;
    while before < number {
        let mut own = 1;
        while own < member.layouts.len() {
            let mut other = 1;
            while other < members[before].layouts.len() {
                let (one, another) = (&member.layouts[own], &members[before].layouts[other]);
                if same(one.table, another.table) && Standing::of(one).may_meet(Standing::of(another)) {
                    return Some(Meeting { one: (number, own), other: (before, other) });
                }
                other += 1;
            }
            own += 1;
        }
        before += 1;
    }
    None
}

impl Meeting {
    /// What to change, where the variants have these names.
    pub const fn message(&self, members: &[Member], names: &[&str]) -> Message {
        let (one, other) = (&members[self.one.0].layouts[self.one.1], &members[self.other.0].layouts[self.other.1]);
        Message::new()
            .and("in the table `")
            .and(one.table)
            .and("` rows of ")
            .and_rows(one, names[self.one.0])
            .and(" could be taken for rows of ")
            .and_rows(other, names[self.other.0])
            .and("; write `prefix = \"…\"` in the indexes: of two prefixes neither may begin with the other")
    }
}

/// A text that is made while a program is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    text: [u8; 1024],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self { text: [0; 1024], len: 0 }
    }

    /// The text, with this after it if there is room.
    const fn and(mut self, more: &str) -> Self {
        if self.len + more.len() <= self.text.len() {
            let (_, rest) = self.text.split_at_mut(self.len);
            rest.split_at_mut(more.len()).0.copy_from_slice(more.as_bytes());
            self.len += more.len();
        }
        self
    }

    /// Of which index rows are, and what they begin with.
    const fn and_rows(self, index: &LayoutInfo, variant: &str) -> Self {
        self.and("the index `").and(index.name).and("` of `").and(variant).and("` (`").and(index.row_prefix).and("…`)")
    }

    /// The whole of it.
    pub const fn as_str(&self) -> &str {
        // Whole texts were put together.
        match std::str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "rows of two indexes could meet",
        }
    }
}

/// Whether no row key of the one can be taken for one of the other: `_` stands between parts that tell their own end,
/// and never in them.
const fn differ(one: &LayoutInfo, other: &LayoutInfo) -> bool {
    if !same(one.row_prefix, other.row_prefix) {
        return !begins(one.row_prefix, other.row_prefix) && !begins(other.row_prefix, one.row_prefix);
    }
    let (shorter, longer) = if one.row.len() < other.row.len() { (one, other) } else { (other, one) };
    let count = shorter.row.len();
    count < longer.row.len() && self_delimiting(shorter.row, count) && self_delimiting(longer.row, count)
}

/// Whether the last part only spreads rows over partitions.
const fn is_hashed(partition: &[PartInfo]) -> bool {
    matches!(partition.last(), Some(last) if begins(last.encoding, "hash = "))
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

/// Whether so many parts are written alike. Their fields may have other names.
const fn begin_alike(one: &[PartInfo], other: &[PartInfo], count: usize) -> bool {
    let mut at = 0;
    while at < count {
        if !same(one[at].kind, other[at].kind) || !same(one[at].encoding, other[at].encoding) {
            return false;
        }
        at += 1;
    }
    true
}

impl<E: TableEntity> Opening<E> {
    /// The rows of a group of which `E` is the master.
    fn group(visible: Visible) -> Self {
        Self::of_plan(Plan::of_group::<E>(visible))
    }
}

impl Found<'_> {
    /// The variant of the group that the row is; `None` if it is none.
    #[doc(hidden)]
    pub fn member<G: EntityGroup>(self) -> Result<Option<G>> {
        let members = G::MEMBERS;
        let variant = if members.iter().any(|member| member.kind.is_some()) {
            let mut properties = self.row.properties;
            let found =
                properties.seek(entity::KIND).map_err(|damage| crate::codec::damaged(self.table, self.row, damage))?;
            members.iter().position(|member| found == member.kind.map(ValueRef::String))
        } else {
            let shapes = members.iter().enumerate().filter(|(_, member)| member.has_shape(self.row.row_key));
            // One with more parts can be taken for one with fewer, whose last part then holds a joint; not the other
            // way round. The master says what is wrong with a row that is none of them.
            let most = shapes.max_by_key(|(_, member)| member.key().row.len());
            Some(most.map_or(0, |(variant, _)| variant))
        };
        variant.map(|variant| <G as EntityGroup>::read(variant, self.table, self.row)).transpose()
    }
}
