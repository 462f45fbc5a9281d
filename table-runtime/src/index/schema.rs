//! An entity's rows in all of its layouts, without its type.

use super::sweep::Sweep;
use crate::{
    Error, Guid, Layout, LayoutInfo, Properties, Result, Row, RowRef, TableEntity, Tables, ValueRef,
    entity::{self, LoadedRow, LoadedRows, PENDING},
    layout::{Holds, Scope, Shape},
    limits, pacing,
    row::RowKeys,
};

/// What upkeep knows of an entity's type: so that its code is there once, not once for each entity.
#[derive(Clone, Copy)]
pub(crate) struct Schema {
    pub(crate) layouts: &'static [LayoutInfo],
    pub(crate) write_id: bool,
    kind: Option<&'static str>,
    separator: Option<char>,
    /// What tells the entity's rows from those of others in its table, where it has no kind.
    shape: Option<Shape>,
    describe: fn() -> Layout,
    rows: fn(RowRef<'_>) -> Result<Encoded>,
    owner: fn(usize, RowRef<'_>) -> Result<RowKeys>,
}

/// The rows that an entity has: the primary one, then one for each index, `None` where it is sparse.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) rows: Vec<Option<EncodedRow>>,
}

/// A row as it is written.
#[derive(Clone, Debug)]
pub(crate) struct EncodedRow {
    pub(crate) keys: RowKeys,
    pub(crate) properties: Properties,
}

/// An entity as it was found in its table.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) row: Row,
    pub(crate) encoded: Encoded,
    /// The id of the insert that has not committed it yet.
    pub(crate) pending: Option<Guid>,
}

impl Encoded {
    /// Encodes an entity in every layout, and checks each row against the service's limits.
    pub(crate) fn of<E: TableEntity>(entity: &E) -> Result<Self> {
        let encoded = Self::unchecked(entity)?;
        let checked = encoded.rows.iter().zip(E::LAYOUTS);
        for (row, layout) in checked.filter_map(|(row, layout)| Some((row.as_ref()?, layout))) {
            check(layout, row)?;
        }
        Ok(encoded)
    }

    fn unchecked<E: TableEntity>(entity: &E) -> Result<Self> {
        let keys = entity::all_keys(entity)?;
        let primary = keys.first().cloned().flatten().unwrap_or_default();
        let stored = entity::properties(entity, &primary)?;
        let rows = E::LAYOUTS.iter().enumerate().zip(keys).map(|((at, layout), keys)| {
            let Some(keys) = keys else { return Ok(None) };
            let properties = match &layout.index {
                None => {
                    let mut properties = stored.clone();
                    if let Some(kind) = E::KIND {
                        properties.push(entity::KIND, ValueRef::String(kind));
                    }
                    properties
                }
                Some(index) => {
                    let begun = if index.holds == Holds::Copy { stored.clone() } else { Properties::default() };
                    entity::index_properties(entity, at, &keys, begun)?
                }
            };
            Ok(Some(EncodedRow { keys, properties }))
        });
        Ok(Self { rows: rows.collect::<Result<_>>()? })
    }

    /// The entity's own row.
    pub(crate) fn primary(&self) -> &EncodedRow {
        // Every entity has one.
        self.rows.first().and_then(Option::as_ref).unwrap_or_else(|| unreachable!("an entity has a primary key"))
    }

    pub(crate) fn row(&self, layout: usize) -> Option<&EncodedRow> {
        self.rows.get(layout).and_then(Option::as_ref)
    }

    pub(crate) fn keys(&self, layout: usize) -> Option<&RowKeys> {
        self.row(layout).map(|row| &row.keys)
    }

    /// The rows, as what a write of the entity changes.
    pub(crate) fn into_loaded(self) -> LoadedRows {
        let loaded = |EncodedRow { keys, properties }| LoadedRow { keys, included: Some(properties) };
        self.rows.into_iter().map(|row| row.map(loaded)).collect()
    }
}

/// A row's limits; of an index's row, the error names the index.
fn check(layout: &LayoutInfo, EncodedRow { keys: (partition_key, row_key), properties }: &EncodedRow) -> Result<()> {
    let checked = limits::check_key(layout.table, "PartitionKey", partition_key)
        .and_then(|()| limits::check_key(layout.table, "RowKey", row_key))
        .and_then(|()| limits::check_row(layout.table, partition_key, row_key, properties.as_ref()));
    checked.map_err(|error| match error {
        Error::Limit(mut error) if layout.index.is_some() => {
            error.what = format!("in the index `{}`, {}", layout.name, error.what);
            error.into()
        }
        other => other,
    })
}

impl Schema {
    pub(crate) const fn of<E: TableEntity>() -> Self {
        Self {
            layouts: E::LAYOUTS,
            write_id: E::WRITE_ID,
            kind: E::KIND,
            separator: E::SEPARATOR,
            shape: if E::KIND.is_some() { None } else { Shape::of(&E::LAYOUTS[0], E::SEPARATOR) },
            describe: E::layout,
            rows: |row| Encoded::unchecked(&*entity::read::<E>(E::LAYOUTS[0].table, row)?),
            owner: entity::owner::<E>,
        }
    }

    /// Whether there are lists, at which writers to one partition meet.
    pub(crate) fn has_lists(&self) -> bool {
        (1..self.layouts.len()).any(|layout| self.holds(layout) == Holds::List)
    }

    /// How the entity is stored.
    pub(crate) fn describe(&self) -> Layout {
        (self.describe)()
    }

    /// Whether the entity's table has none of its type: those of other kinds may share it.
    pub(crate) async fn has_no_entity(self, tables: &Tables) -> Result<bool> {
        // Where no others share the table, the first row says it.
        let page = if self.kind.is_some() || self.shape.is_some() { limits::PAGE } else { 1 };
        let mut sweep = Sweep::new(tables.backend().clone(), self, [0]).of_pages(page);
        while let Some(swept) = sweep.next().await? {
            // What does not fit the struct is there all the same.
            if swept.rows.iter().any(|row| !matches!(self.read(row.to_row()), Ok(None))) {
                return Ok(false);
            }
            pacing::yield_now().await;
        }
        Ok(true)
    }

    /// The entity's table.
    pub(crate) fn table(&self) -> &'static str {
        self.layouts[0].table
    }

    /// The indexes whose rows stand in the entity's partition.
    pub(crate) fn same_partition(&self) -> impl Iterator<Item = usize> {
        self.indexes(|layout| layout.index.as_ref().is_some_and(|index| index.scope == Scope::SamePartition))
    }

    /// The indexes whose rows are written by steps, before the entity is committed.
    pub(crate) fn claimed(&self) -> impl Iterator<Item = usize> {
        self.indexes(LayoutInfo::is_claimed)
    }

    /// The indexes whose rows in other partitions hold properties, which follow the entity.
    pub(crate) fn following(&self) -> impl Iterator<Item = usize> {
        self.indexes(|layout| {
            layout.index.as_ref().is_some_and(|index| {
                index.scope == Scope::CrossPartition && matches!(index.holds, Holds::Copy | Holds::Include)
            })
        })
    }

    fn indexes(&self, is: fn(&LayoutInfo) -> bool) -> impl Iterator<Item = usize> + use<> {
        let layouts = self.layouts;
        (1..layouts.len()).filter(move |at| is(&layouts[*at]))
    }

    /// Whether the index has one entity at most for a value.
    pub(crate) fn is_unique(&self, layout: usize) -> bool {
        self.layouts[layout].index.as_ref().is_some_and(|index| index.unique)
    }

    pub(crate) fn holds(&self, layout: usize) -> Holds {
        self.layouts[layout].index.as_ref().map_or(Holds::Pointer, |index| index.holds)
    }

    /// The value that the keys of a row of an index hold, to be told.
    pub(crate) fn value(&self, layout: usize, keys: &RowKeys) -> String {
        crate::codec::index_value(&self.layouts[layout], keys, self.separator)
    }

    /// The entity to which a row of an index leads.
    pub(crate) fn owner(&self, layout: usize, row: &Row) -> Result<RowKeys> {
        (self.owner)(layout, row.as_ref())
    }

    /// The entity in a row of its table; `None` for a row of another entity.
    pub(crate) fn read(&self, row: Row) -> Result<Option<Found>> {
        if self.shape.is_some_and(|shape| !shape.fits(&row.row_key)) {
            return Ok(None);
        }
        if let Some(kind) = self.kind
            && !entity::is_kind(self.table(), row.as_ref(), kind)?
        {
            return Ok(None);
        }
        let encoded = (self.rows)(row.as_ref())?;
        let pending = pending(&row);
        Ok(Some(Found { row, encoded, pending }))
    }
}

/// The id of the insert that has not committed the row yet.
pub(crate) fn pending(row: &Row) -> Option<Guid> {
    match row.properties.get(PENDING) {
        Some(ValueRef::Guid(id)) => Some(id),
        _ => None,
    }
}
