//! Some of an entity's fields: what a query asks for, and how they are read.

use std::borrow::Cow;

use super::{Found, View};
use crate::{
    Column, Condition, Holds, LayoutInfo, Properties, Result, RowRef, Scope, TableEntity,
    codec::{PropertyWriter, RowReader},
    entity,
    key::{KeyReader, RowContext},
};

/// A struct of some of the fields of the entity `E`: `#[derive(Projection)]`, and what [`select`](crate::Rows::select)
/// takes.
///
/// It is read plain, not as [`Stored`](crate::Stored): what is not the whole entity cannot be written back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{E}`",
    label = "not a projection of `{E}`",
    note = "write `#[derive(Projection)] #[projection(of = {E})]` on a struct of some of its fields"
)]
pub trait Projection<E>: View<Entity = E, Item = Self> + Send {
    /// The properties of its fields, in their order; empty for one that the key alone holds.
    #[doc(hidden)]
    const PROPERTIES: &'static [&'static str];

    #[doc(hidden)]
    fn read(row: &mut RowReader<'_>) -> Result<Self>;
}

/// The type of an entity's field, which a projection's field has too.
#[diagnostic::on_unimplemented(
    message = "a projection's field has the type of the entity's: `{Self}`, not `{P}`",
    label = "the entity's field is a `{Self}`"
)]
pub trait SameAs<P> {
    #[doc(hidden)]
    fn same(self) -> P;
}

#[diagnostic::do_not_recommend]
impl<T> SameAs<T> for T {
    #[inline]
    fn same(self) -> T {
        self
    }
}

/// Reads a field of a projection as the entity's column says.
#[inline]
pub fn project<P, E, T: SameAs<P>, M, S>(column: Column<E, T, M, S>, row: &mut RowReader<'_>) -> Result<P> {
    column.load(row).map(T::same)
}

impl Found<'_> {
    /// The fields of a projection; `None` if their entity does not, or no longer, have the value by which it was found.
    #[doc(hidden)]
    pub fn projected<E: TableEntity, P: Projection<E>>(self) -> Result<Option<P>> {
        if const { E::LAYOUTS.len() > 1 } {
            if self.layout > 0 {
                return of_index::<E, P>(self.layout, self.row).map(Some);
            }
            if self.through.is_some() && self.entity::<E>()?.is_none() {
                return Ok(None);
            }
        }
        of_row::<E, P>(self.table, self.row).map(Some)
    }
}

fn of_row<E: TableEntity, P: Projection<E>>(table: &str, row: RowRef<'_>) -> Result<P> {
    let mut reader = RowReader::new(&E::LAYOUTS[0], table, row);
    let projected = <P as Projection<E>>::read(&mut reader)?;
    reader.finish()?;
    Ok(projected)
}

/// The fields as the row of an index holds them: as properties, in its own keys, or in those that it points to.
fn of_index<E: TableEntity, P: Projection<E>>(layout: usize, row: RowRef<'_>) -> Result<P> {
    let info = &E::LAYOUTS[layout];
    let keys = if wants_keys(P::PROPERTIES) {
        let (partition_key, row_key) = entity::owner::<E>(layout, row)?;
        (Cow::Owned(partition_key), Cow::Owned(row_key))
    } else {
        (Cow::Borrowed(row.partition_key), Cow::Borrowed(row.row_key))
    };
    let mut values = values(info).filter(|(_, name)| P::PROPERTIES.contains(name)).peekable();
    let mut with_values = None;
    if values.peek().is_some() {
        let row_keys = (row.partition_key.to_owned(), row.row_key.to_owned());
        let properties = with_values.insert(row.properties.to_properties());
        for (part, _) in values {
            let key = part_of(info, E::SEPARATOR, part, row)?;
            E::index_value(layout, part, key, &mut PropertyWriter::new(info.table, &row_keys, properties))?;
        }
    }
    let properties = with_values.as_ref().map_or(row.properties, Properties::as_ref);
    of_row::<E, P>(E::LAYOUTS[0].table, RowRef { partition_key: &keys.0, row_key: &keys.1, properties, ..row })
}

/// The key of an index's row, to be read from this part on, counted over both keys.
fn part_of<'a>(
    layout: &'static LayoutInfo,
    separator: Option<char>,
    part: usize,
    row: RowRef<'a>,
) -> Result<KeyReader<'a>> {
    let (prefix, parts, key, before) = match part.checked_sub(layout.partition.len()) {
        None => (layout.partition_prefix, layout.partition, row.partition_key, part),
        Some(before) => (layout.row_prefix, layout.row, row.row_key, before),
    };
    let mut reader = KeyReader::new(layout, prefix, parts, key, RowContext { table: layout.table, row })?;
    reader.skip_to(before, separator)?;
    Ok(reader)
}

/// The properties that an index's keys hold, beside those that its rows have.
fn values(layout: &'static LayoutInfo) -> impl Iterator<Item = (usize, &'static str)> {
    let index = layout.index.as_ref().filter(|index| index.holds != Holds::Copy);
    let included = move |name: &str| index.is_some_and(|index| index.included.iter().any(|other| other.name == name));
    index.map_or([].as_slice(), |index| index.values).iter().copied().filter(move |(_, name)| !included(name))
}

fn wants_keys(wanted: &[&str]) -> bool {
    wanted.contains(&"")
}

/// What a query asks for, where it is not the whole of each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection {
    /// As [`Projection::PROPERTIES`].
    properties: &'static [&'static str],
    /// Whether the rows of an index are taken at their word.
    unchecked: bool,
}

impl Selection {
    pub(super) const fn new(properties: &'static [&'static str], unchecked: bool) -> Self {
        Self { properties, unchecked }
    }

    /// The properties of the projection's fields; empty for one that the key alone holds.
    pub(super) const fn properties(self) -> &'static [&'static str] {
        self.properties
    }

    /// What it asks of rows of the layout.
    pub(super) fn of(self, layout: &'static LayoutInfo) -> Vec<&'static str> {
        let in_key = |name: &str| values(layout).any(|(_, other)| other == name);
        let own = self.properties.iter().copied().filter(|name| !name.is_empty() && !in_key(name));
        let pointer = layout.index.as_ref().filter(|_| wants_keys(self.properties));
        own.chain(pointer.iter().flat_map(|index| index.pointer).map(|property| property.name)).collect()
    }

    /// Whether the rows of an index hold all of it, and what the filter compares, so that no entity has to be read.
    ///
    /// In the entity's own partition they change with the entity, in one transaction. Elsewhere they are written by
    /// steps, and may be those of an entity that has another value by now, or is none.
    pub(super) fn is_covered(self, layout: &'static LayoutInfo, filter: Option<&Condition>) -> bool {
        let Some(index) = &layout.index else { return false };
        let included = |name: &str| index.included.iter().any(|other| other.name == name);
        let held = |name: &str| name.is_empty() || included(name) || values(layout).any(|(_, other)| other == name);
        matches!(index.holds, Holds::Pointer | Holds::Include)
            && (index.scope == Scope::SamePartition || self.unchecked)
            && self.properties.iter().all(|name| held(name))
            && filter.is_none_or(|filter| filter.compares_only(&included))
    }
}
