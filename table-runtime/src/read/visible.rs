//! Condition under which a row of a table is an entity that readers see.

use std::{borrow::Cow, ops::Deref};

use table_model::{
    Layout, LayoutInfo, Lifecycle,
    unstable::{
        codec::seek,
        entity::{self, EntityInfo},
        event,
        layout::{LayoutExt, Member, RowShape, is_always_there, table},
        lifecycle::Standing,
    },
};
use table_store::{Condition, Operator, Result, RowRef, Ticks, Value, ValueRef, backend::Scan, unstable::limits};

/// Greatest number of kinds that a query's filter compares: three of its comparisons are for the keys.
const FILTERED_KINDS: usize = limits::COMPARISONS - 3;

/// Condition under which a row is visible as an entity of a query. It is small, because the plan of a query is moved often.
#[derive(Clone, Copy, Debug)]
pub struct Visible {
    rules: &'static Rules,
    /// The part that the bin has in the query.
    pub bin: Bin,
}

/// The part of the condition that follows from the types of the entities.
#[derive(Debug)]
pub struct Rules {
    pub table: &'static str,
    /// The primary key; of a group, that of the master.
    primary: &'static LayoutInfo,
    /// Kinds of which the row must have one, if several entities share the table.
    kinds: Kinds,
    /// Shape that the row's key must have, if rows have no kind.
    shape: Option<RowShape>,
    /// Newest version that the row may have, if readers skip newer ones.
    newest: Option<u32>,
    /// The times that hide the entity; of a group, each member has its own.
    lifecycle: Lifecycle<'static>,
    /// True if every row has the time from which on the entity is absent.
    always_expires: bool,
    /// True if a time can hide a row.
    hides: bool,
}

impl Deref for Visible {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        self.rules
    }
}

/// The part that the bin has in a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bin {
    /// Entities in the bin are not found.
    #[default]
    Hidden,
    /// They are found too.
    Shown,
    /// They alone are found.
    Only,
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
        one.into_iter().chain(group.iter().filter_map(|member| member.layout.kind()))
    }

    const fn members(self) -> &'static [Member] {
        match self {
            Self::One(_) => &[],
            Self::Group(members) => members,
        }
    }

    const fn is_some(self) -> bool {
        match self {
            Self::One(kind) => kind.is_some(),
            Self::Group(members) => members[0].layout.kind().is_some(),
        }
    }

    /// Checks whether there are more kinds than a filter can compare, so that the kind of each row has to be checked
    /// after it is read.
    const fn are_many(self) -> bool {
        matches!(self, Self::Group(members) if members[0].layout.kind().is_some() && members.len() > FILTERED_KINDS)
    }
}

impl Rules {
    pub const fn of(info: &EntityInfo) -> Self {
        let Layout { layouts, version, lifecycle, .. } = info.layout;
        let newest = if info.skip_newer { Some(version) } else { None };
        let always_expires = match lifecycle.expires {
            // A row of an older version may be without it.
            Some(name) => version == 1 && is_always_there(&info.layout, name),
            None => false,
        };
        Self {
            table: table(&layouts[0]),
            primary: &layouts[0],
            kinds: Kinds::One(info.layout.kind()),
            shape: info.shape(),
            newest,
            lifecycle,
            always_expires,
            hides: !lifecycle.is_none(),
        }
    }

    /// Returns the condition under which a row is visible as an entity of a group.
    pub const fn of_group(members: &'static [Member]) -> Self {
        let (mut hides, mut at) = (false, 0);
        while at < members.len() {
            hides |= !members[at].layout.lifecycle.is_none();
            at += 1;
        }
        Self {
            table: table(members[0].key()),
            primary: members[0].key(),
            kinds: Kinds::Group(members),
            shape: None,
            newest: None,
            lifecycle: Lifecycle::NONE,
            always_expires: false,
            hides,
        }
    }
}

impl Visible {
    pub const fn new(rules: &'static Rules) -> Self {
        Self { rules, bin: Bin::Hidden }
    }

    /// Checks whether rows of other kinds may lie between those of a query: it asks for one kind of a table of several.
    pub const fn is_one_of_several(self) -> bool {
        matches!(self.rules.kinds, Kinds::One(Some(_)))
    }

    /// Returns the filter condition on the kind; `None` if rows have no kind, or there are too many kinds.
    pub fn is_kind(self) -> Option<Condition> {
        let kinds = Some(self.kinds).filter(|kinds| !kinds.are_many());
        let conditions = kinds.into_iter().flat_map(Kinds::iter).map(|kind| Condition::Compare {
            property: entity::KIND.into(),
            operator: Operator::Eq,
            value: Value::String(kind.to_owned()),
        });
        conditions.reduce(|left, right| Condition::Or(left.into(), right.into()))
    }

    /// Returns a text that distinguishes these entities from others in the table, for the hash of cursors.
    pub fn fingerprint(self) -> String {
        let bin = if self.bin == Bin::Hidden { String::new() } else { format!(" {:?}", self.bin) };
        match self.kinds {
            Kinds::One(kind) => format!("{kind:?}{bin}"),
            Kinds::Group(members) => {
                let key = |member: &Member| {
                    let key = member.key();
                    let parts: Vec<_> = key.row.iter().map(|part| &*part.field).collect();
                    format!("{:?} {}{}", member.layout.kind(), key.row_prefix, parts.join(";"))
                };
                members.iter().map(key).collect::<Vec<_>>().join("\n") + &bin
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

    /// Checks whether the row is an event, which is no entity.
    #[inline]
    pub fn is_event(&self, row: &RowRef<'_>) -> bool {
        event::is_event(self.primary, row.row_key)
    }

    /// Checks whether the row has a version that readers skip.
    #[inline]
    pub fn is_skipped(&self, row: &RowRef<'_>) -> Result<bool> {
        match self.newest {
            Some(newest) => Ok(entity::newer_version(self.table, *row, newest)?.is_some()),
            None => Ok(false),
        }
    }

    /// Returns the properties that decide whether readers see a row.
    pub fn properties(self) -> Cow<'static, [&'static str]> {
        self.properties_of(self.kinds.is_some())
    }

    /// Returns the properties that decide whether readers see a row of an index.
    pub fn properties_in(self, layout: &'static LayoutInfo) -> Cow<'static, [&'static str]> {
        let version = (layout.is_copy() && self.newest.is_some()).then_some(entity::VERSION);
        self.times_in(layout).chain(version).collect()
    }

    /// Returns the properties that decide whether readers see a row that the query found.
    pub fn properties_after_filter(self) -> Cow<'static, [&'static str]> {
        // The kind of a row of a group says which times it has.
        self.properties_of(self.kinds.are_many() || self.kinds.is_some() && self.hides() && self.lifecycle.is_none())
    }

    fn properties_of(self, kind: bool) -> Cow<'static, [&'static str]> {
        let own: &'static [&'static str] = match (kind, self.newest.is_some()) {
            (false, false) => &[entity::PENDING],
            (true, false) => &[entity::KIND, entity::PENDING],
            (false, true) => &[entity::PENDING, entity::VERSION],
            (true, true) => &[entity::KIND, entity::PENDING, entity::VERSION],
        };
        if !self.hides() {
            return own.into();
        }
        let mut all = own.to_vec();
        for time in self.times() {
            if !all.contains(&time) {
                all.push(time);
            }
        }
        all.into()
    }
}

/// The times that hide entities.
impl Visible {
    /// Checks whether a time can hide a row.
    #[inline]
    pub const fn hides(&self) -> bool {
        self.rules.hides
    }

    /// Returns the properties of the times.
    fn times(self) -> impl Iterator<Item = &'static str> {
        let members = self.kinds.members().iter().flat_map(|member| member.layout.lifecycle.properties());
        self.lifecycle.properties().chain(members)
    }

    /// Checks whether the query finds an entity because it is in the bin, or because it is not.
    pub fn finds_by_bin(self) -> bool {
        let members = self.kinds.members().iter().map(|member| member.layout.lifecycle);
        self.bin != Bin::Shown && members.chain([self.lifecycle]).any(|lifecycle| lifecycle.soft_delete.is_some())
    }

    /// Returns those of the times that the rows of a layout have.
    pub fn times_in(self, layout: &'static LayoutInfo) -> impl Iterator<Item = &'static str> {
        self.times().filter(move |time| layout.holds(time))
    }

    /// Checks whether the rows of a layout alone show whether a time hides the entity.
    pub fn is_decided_by(self, layout: &LayoutInfo) -> bool {
        self.times().all(|time| layout.holds(time))
    }

    /// Checks whether the times in a row, of the entity or of one of its indexes, let the query find the entity. `now` is
    /// asked only if a time can hide it.
    #[inline]
    pub fn shows(self, row: &RowRef<'_>, now: impl FnOnce() -> Ticks) -> Result<bool> {
        if self.hides() { self.shows_at(row, now()) } else { Ok(true) }
    }

    fn shows_at(self, row: &RowRef<'_>, now: Ticks) -> Result<bool> {
        let lifecycle = match self.kinds {
            Kinds::One(_) => self.lifecycle,
            Kinds::Group(members) => {
                member_of(members, self.table, row)?.map_or(Lifecycle::NONE, |at| members[at].layout.lifecycle)
            }
        };
        Ok(match (Standing::of(lifecycle, self.table, *row, now)?, self.bin) {
            (Standing::Expired, _) | (Standing::InBin, Bin::Hidden) | (Standing::Visible, Bin::Only) => false,
            (Standing::InBin, Bin::Shown | Bin::Only) | (Standing::Visible, Bin::Hidden | Bin::Shown) => true,
        })
    }

    /// Returns a scan of a layout with what the service can say of the times. It finds each row that the query finds, and
    /// maybe others. Returns `None` if there is nothing to say, or if the scan had more comparisons, or more text, than the
    /// service accepts.
    pub fn narrowed(self, scan: &Scan, layout: &LayoutInfo, now: Ticks) -> Option<Scan> {
        let times = self.condition(layout, now)?;
        let filter = match scan.filter.clone() {
            Some(filter) => Condition::And(filter.into(), times.into()),
            None => times,
        };
        let narrowed = Scan { filter: Some(filter), ..scan.clone() };
        narrowed.check().is_ok().then_some(narrowed)
    }

    fn condition(self, layout: &LayoutInfo, now: Ticks) -> Option<Condition> {
        let conditions = self.said(layout).map(|(property, operator, earliest)| {
            // Azurite compares milliseconds.
            let earliest =
                earliest.unwrap_or_else(|| now.get().checked_sub(10_000).and_then(Ticks::new).unwrap_or(now));
            Condition::Compare { property: property.into(), operator, value: Value::DateTime(earliest) }
        });
        conditions.reduce(|left, right| Condition::And(left.into(), right.into()))
    }

    /// Returns what [`narrowed`](Self::narrowed) adds as text, with `{now}` for the present time.
    pub fn explained_condition(self, layout: &LayoutInfo) -> String {
        let conditions = self.said(layout).map(|(property, operator, earliest)| match earliest {
            Some(earliest) => format!("{property} {operator} {}", ValueRef::DateTime(earliest)),
            None => format!("{property} {operator} {{now}}"),
        });
        conditions.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the comparisons of times that the service can make: with a moment, or with the present time. It finds no row
    /// without a compared property.
    fn said(self, layout: &LayoutInfo) -> impl Iterator<Item = (&'static str, Operator, Option<Ticks>)> {
        let expires = self.lifecycle.expires.filter(|time| self.always_expires && layout.holds(time));
        let deleted = self.lifecycle.soft_delete.filter(|time| self.bin == Bin::Only && layout.holds(time));
        let expires = expires.map(|time| (time, Operator::Gt, None));
        expires.into_iter().chain(deleted.map(|time| (time, Operator::Ge, Some(Ticks::FIRST_PROPERTY))))
    }
}

/// Returns the position of the member of a group to which a row belongs; `None` if it belongs to none.
pub fn member_of(members: &[Member], table: &str, row: &RowRef<'_>) -> Result<Option<usize>> {
    if members.iter().any(|member| member.layout.kind().is_some()) {
        let found = seek(table, *row, entity::KIND)?;
        return Ok(members.iter().position(|member| found == member.layout.kind().map(ValueRef::String)));
    }
    let shapes = members.iter().enumerate().filter(|(_, member)| member.has_shape(row.row_key));
    // A key with more parts also has the shape of a key with fewer parts, whose last part then holds a delimiter, but not
    // the reverse: the shape with the most parts wins. If no shape matches, reading the row as the master reports the
    // problem.
    let most = shapes.max_by_key(|(_, member)| member.key().row.len());
    Ok(Some(most.map_or(0, |(variant, _)| variant)))
}
