//! Which rows of a table are entities that readers see.

use crate::layout::Member;
use crate::{Condition, LayoutInfo, Operator, Result, RowRef, Value, entity, layout::Shape, limits};

/// The most kinds that a query's filter compares: three of its comparisons are those of the keys.
const FILTERED_KINDS: usize = limits::COMPARISONS - 3;

/// What a row has to be, for its entity to be seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visible {
    pub(crate) table: &'static str,
    /// Of one of these kinds, where several share the table.
    kinds: Kinds,
    /// Of this shape, where it has no kind.
    shape: Option<Shape>,
}

#[derive(Clone, Copy, Debug)]
enum Kinds {
    One(Option<&'static str>),
    Group(&'static [Member]),
}

impl Kinds {
    fn iter(self) -> impl Iterator<Item = &'static str> {
        let (one, group) = match self {
            Self::One(kind) => (kind, [].as_slice()),
            Self::Group(members) => (None, members),
        };
        one.into_iter().chain(group.iter().filter_map(|member| member.kind))
    }

    const fn is_some(self) -> bool {
        match self {
            Self::One(kind) => kind.is_some(),
            Self::Group(members) => members[0].kind.is_some(),
        }
    }

    /// Whether there are more than a filter compares, so that they are told when the rows are there.
    const fn are_many(self) -> bool {
        matches!(self, Self::Group(members) if members[0].kind.is_some() && members.len() > FILTERED_KINDS)
    }
}

impl Visible {
    pub(crate) const fn new(layouts: &[LayoutInfo], kind: Option<&'static str>, separator: Option<char>) -> Self {
        let shape = if kind.is_some() { None } else { Shape::of(&layouts[0], separator) };
        Self { table: layouts[0].table, kinds: Kinds::One(kind), shape }
    }

    /// What a row has to be, for one of a group's entities to be seen.
    pub(crate) const fn of_group(members: &'static [Member]) -> Self {
        Self { table: members[0].layouts()[0].table, kinds: Kinds::Group(members), shape: None }
    }

    /// The condition on the kind, unless there are too many of them.
    pub(crate) fn is_kind(self) -> Option<Condition> {
        let kinds = Some(self.kinds).filter(|kinds| !kinds.are_many());
        let conditions = kinds.into_iter().flat_map(Kinds::iter).map(|kind| Condition::Compare {
            property: entity::KIND,
            operator: Operator::Eq,
            value: Value::String(kind.to_owned()),
        });
        conditions.reduce(|left, right| Condition::Or(left.into(), right.into()))
    }

    /// Which entities these are, of those that share the table: for cursors.
    pub(crate) fn fingerprint(self) -> String {
        match self.kinds {
            Kinds::One(kind) => format!("{kind:?}"),
            Kinds::Group(members) => {
                let key = |member: &Member| {
                    let key = &member.layouts()[0];
                    let parts: Vec<_> = key.row.iter().map(|part| part.field).collect();
                    format!("{:?} {}{}", member.kind, key.row_prefix, parts.join(";"))
                };
                members.iter().map(key).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Whether readers see the row.
    pub(crate) fn is_visible(self, row: RowRef<'_>) -> Result<bool> {
        Ok(self.is_of_kind(row)? && self.is_committed(row)?)
    }

    /// Whether readers see a row that [is of a kind](Self::is_kind) as far as the query has asked.
    pub(crate) fn is_visible_after_filter(self, row: RowRef<'_>) -> Result<bool> {
        if self.kinds.are_many() { self.is_visible(row) } else { self.is_committed(row) }
    }

    fn is_of_kind(self, row: RowRef<'_>) -> Result<bool> {
        let mut kinds = self.kinds.iter().map(|kind| entity::is_kind(self.table, row, kind));
        if !self.kinds.is_some() {
            return Ok(true);
        }
        kinds.find(|is_kind| !matches!(is_kind, Ok(false))).unwrap_or(Ok(false))
    }

    /// Whether the row is not one of another entity, as its key shows it.
    pub(crate) fn has_shape(self, row: RowRef<'_>) -> bool {
        self.shape.is_none_or(|shape| shape.fits(row.row_key))
    }

    /// Checks whether the row is committed. Every row is checked, also if the struct has no indexes: another program
    /// may know an index that this one does not, and write pending inserts.
    fn is_committed(self, row: RowRef<'_>) -> Result<bool> {
        Ok(!entity::is_pending(self.table, row)?)
    }

    /// The properties by which a row [is seen](Self::sees).
    pub(crate) const fn properties(self) -> &'static [&'static str] {
        Self::properties_of(self.kinds.is_some())
    }

    /// The properties by which a row that the query found [is seen](Self::is_visible_after_filter).
    pub(crate) const fn properties_of_found(self) -> &'static [&'static str] {
        Self::properties_of(self.kinds.are_many())
    }

    const fn properties_of(kind: bool) -> &'static [&'static str] {
        if kind { &[entity::KIND, entity::PENDING] } else { &[entity::PENDING] }
    }
}
