//! Condition under which a row of a table is an entity that readers see.

use table_store::{Condition, Operator, Result, RowRef, Value, unstable::limits};

use crate::model::{
    entity::{self, EntityInfo},
    layout::{Layout, Member, Shape},
};

/// Greatest number of kinds that a query's filter compares: three of its comparisons are for the keys.
const FILTERED_KINDS: usize = limits::COMPARISONS - 3;

/// Condition under which a row is visible as an entity of a query.
#[derive(Clone, Copy, Debug)]
pub struct Visible {
    pub table: &'static str,
    /// Kinds of which the row must have one, if several entities share the table.
    kinds: Kinds,
    /// Shape that the row's key must have, if rows have no kind.
    shape: Option<Shape>,
    /// Newest version that the row may have, if readers skip newer ones.
    newest: Option<u32>,
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
        one.into_iter().chain(group.iter().filter_map(|member| member.layout.kind))
    }

    const fn is_some(self) -> bool {
        match self {
            Self::One(kind) => kind.is_some(),
            Self::Group(members) => members[0].layout.kind.is_some(),
        }
    }

    /// Checks whether there are more kinds than a filter can compare, so that the kind of each row has to be checked
    /// after it is read.
    const fn are_many(self) -> bool {
        matches!(self, Self::Group(members) if members[0].layout.kind.is_some() && members.len() > FILTERED_KINDS)
    }
}

impl Visible {
    pub const fn of(info: &EntityInfo) -> Self {
        let Layout { layouts, kind, version, .. } = info.layout;
        let newest = if info.skip_newer { Some(version) } else { None };
        Self { table: layouts[0].table, kinds: Kinds::One(kind), shape: info.shape(), newest }
    }

    /// Returns the condition under which a row is visible as an entity of a group.
    pub const fn of_group(members: &'static [Member]) -> Self {
        Self { table: members[0].key().table, kinds: Kinds::Group(members), shape: None, newest: None }
    }

    /// Checks whether rows of other kinds may lie between those of a query: it asks for one kind of a table of several.
    pub const fn is_one_of_several(self) -> bool {
        matches!(self.kinds, Kinds::One(Some(_)))
    }

    /// Returns the filter condition on the kind; `None` if rows have no kind, or there are too many kinds.
    pub fn is_kind(self) -> Option<Condition> {
        let kinds = Some(self.kinds).filter(|kinds| !kinds.are_many());
        let conditions = kinds.into_iter().flat_map(Kinds::iter).map(|kind| Condition::Compare {
            property: entity::KIND,
            operator: Operator::Eq,
            value: Value::String(kind.to_owned()),
        });
        conditions.reduce(|left, right| Condition::Or(left.into(), right.into()))
    }

    /// Returns a text that distinguishes these entities from others in the table, for the hash of cursors.
    pub fn fingerprint(self) -> String {
        match self.kinds {
            Kinds::One(kind) => format!("{kind:?}"),
            Kinds::Group(members) => {
                let key = |member: &Member| {
                    let key = member.key();
                    let parts: Vec<_> = key.row.iter().map(|part| part.field).collect();
                    format!("{:?} {}{}", member.layout.kind, key.row_prefix, parts.join(";"))
                };
                members.iter().map(key).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Checks whether readers see the row if it is committed.
    ///
    /// Every row is also checked for being committed, by [`FoundRow`](super::FoundRow), even if the struct has no
    /// indexes: another program may know an index that this one does not, and write pending inserts.
    #[inline]
    pub fn is_visible(&self, row: &RowRef<'_>) -> Result<bool> {
        Ok((!self.kinds.is_some() || self.is_of_kind(row)?) && !self.is_skipped(row)?)
    }

    /// Checks the same for a row that the query found, and which therefore satisfies [`is_kind`](Self::is_kind).
    #[inline]
    pub fn is_visible_after_filter(&self, row: &RowRef<'_>) -> Result<bool> {
        if self.kinds.are_many() { self.is_visible(row) } else { Ok(!self.is_skipped(row)?) }
    }

    fn is_of_kind(&self, row: &RowRef<'_>) -> Result<bool> {
        let mut kinds = self.kinds.iter().map(|kind| entity::is_kind(self.table, *row, kind));
        kinds.find(|is_kind| !matches!(is_kind, Ok(false))).unwrap_or(Ok(false))
    }

    /// Returns false if the row's key certainly belongs to another entity.
    #[inline]
    pub fn has_shape(&self, row: &RowRef<'_>) -> bool {
        self.shape.as_ref().is_none_or(|shape| shape.fits(row.row_key))
    }

    /// Checks whether the row has a version that readers skip.
    #[inline]
    fn is_skipped(&self, row: &RowRef<'_>) -> Result<bool> {
        match self.newest {
            Some(newest) => Ok(entity::newer_version(self.table, *row, newest)?.is_some()),
            None => Ok(false),
        }
    }

    /// Returns the properties that decide whether readers see a row.
    pub const fn properties(self) -> &'static [&'static str] {
        self.properties_of(self.kinds.is_some())
    }

    /// Returns the properties that decide whether readers see a row that the query found.
    pub const fn properties_after_filter(self) -> &'static [&'static str] {
        self.properties_of(self.kinds.are_many())
    }

    const fn properties_of(self, kind: bool) -> &'static [&'static str] {
        match (kind, self.newest.is_some()) {
            (false, false) => &[entity::PENDING],
            (true, false) => &[entity::KIND, entity::PENDING],
            (false, true) => &[entity::PENDING, entity::VERSION],
            (true, true) => &[entity::KIND, entity::PENDING, entity::VERSION],
        }
    }
}
