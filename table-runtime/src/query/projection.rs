//! Projections: structs of some of an entity's fields, which a query can read alone.

use std::borrow::Cow;

use super::View;
use crate::{
    Column, LayoutInfo, Properties, Result, RowRef, TableEntity,
    codec::{PropertyWriter, RowReader},
    entity,
    key::{KeyReader, RowContext},
    layout::Holds,
    read::{FoundRow, values, wants_keys},
    row::RowKeys,
};

/// A struct of some of the fields of the entity `E`, with `#[derive(Projection)]`, for [`select`](crate::Rows::select).
///
/// A query returns the struct itself, not a [`Stored`](crate::Stored), because a part of an entity cannot be written
/// back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection of `{E}`",
    label = "not a projection of `{E}`",
    note = "write `#[derive(Projection)] #[projection(of = {E})]` on a struct of some of its fields"
)]
pub trait Projection<E>: View<Entity = E, Item = Self> + Send {
    /// Properties of the fields, in their order; the name is empty for a field that only the key holds.
    #[doc(hidden)]
    const PROPERTIES: &'static [&'static str];

    #[doc(hidden)]
    fn read(row: &mut RowReader<'_>) -> Result<Self>;
}

/// Type of an entity's field, which must be the type `P` of the projection's field.
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

/// Reads a field of a projection as the entity's column defines it.
#[inline]
pub fn project<P, E, T: SameAs<P>, M, S>(column: Column<E, T, M, S>, row: &mut RowReader<'_>) -> Result<P> {
    column.load(row).map(T::same)
}

impl FoundRow<'_> {
    /// Returns the fields of a projection; `None` if their entity does not have the value by which it was found, or no
    /// longer has it.
    #[doc(hidden)]
    pub fn projected<E: TableEntity, P: Projection<E>>(self) -> Result<Option<P>> {
        if const { E::LAYOUTS.len() > 1 } {
            if self.layout > 0 {
                return of_index::<E, P>(self.layout, self.row).map(Some);
            }
            if self.pointer.is_some() && self.entity::<E>()?.is_none() {
                return Ok(None);
            }
        }
        entity::check_version::<E>(self.table, self.row)?;
        of_row::<E, P>(self.table, self.row).map(Some)
    }
}

fn of_row<E: TableEntity, P: Projection<E>>(table: &str, row: RowRef<'_>) -> Result<P> {
    let mut reader = RowReader::new(&E::LAYOUTS[0], table, row);
    let projected = <P as Projection<E>>::read(&mut reader)?;
    reader.finish()?;
    Ok(projected)
}

/// Returns the fields that an index row holds: as properties, in its own keys, or in the keys that it points to.
fn of_index<E: TableEntity, P: Projection<E>>(layout: usize, row: RowRef<'_>) -> Result<P> {
    let info = &E::LAYOUTS[layout];
    if info.index.as_ref().is_some_and(|index| index.holds == Holds::Copy) {
        entity::check_version::<E>(info.table, row)?;
    }
    let keys = if wants_keys(P::PROPERTIES) {
        let RowKeys { partition_key, row_key } = entity::owner::<E>(layout, row)?;
        (Cow::Owned(partition_key), Cow::Owned(row_key))
    } else {
        (Cow::Borrowed(row.partition_key), Cow::Borrowed(row.row_key))
    };
    let mut values = values(info).filter(|(_, name)| P::PROPERTIES.contains(name)).peekable();
    let mut with_values = None;
    if values.peek().is_some() {
        let row_keys = row.keys();
        let properties = with_values.insert(row.properties.to_properties());
        for (part, _) in values {
            let key = part_of(info, E::SEPARATOR, part, row)?;
            E::index_value(layout, part, key, &mut PropertyWriter::new(info.table, &row_keys, properties))?;
        }
    }
    let properties = with_values.as_ref().map_or(row.properties, Properties::as_ref);
    of_row::<E, P>(E::LAYOUTS[0].table, RowRef { partition_key: &keys.0, row_key: &keys.1, properties, ..row })
}

/// Returns a reader of an index row's key, positioned at a part. `part` counts the parts of both keys.
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
