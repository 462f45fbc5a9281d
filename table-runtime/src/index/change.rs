//! The effect of a write on an entity's rows, and its operations on the index rows that are in the entity's transaction.

use std::{borrow::Cow, collections::HashMap};

use super::{
    schema::{Encoded, Schema},
    write::Write,
};
use crate::{
    ETag,
    backend::{Action, IfMatch},
    entity::{LoadedRow, LoadedRows},
    layout::Holds,
    row::RowKeys,
};

/// The rows of an entity before and after a write.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) old: Option<&'a LoadedRows>,
    pub(crate) new: Option<&'a Encoded>,
}

/// The part of a transaction that concerns one entity.
pub(crate) struct Planned<'a> {
    pub(crate) write: &'a Write,
    pub(crate) change: Change<'a>,
    pub(crate) keys: &'a RowKeys,
    /// The operation on the entity's own row.
    pub(crate) action: Action,
}

/// An index row that was read for a transaction.
pub(crate) enum ReadRow {
    /// The row does not exist: the index was added after the entity.
    Missing,
    /// The row has this version, and no committed entity has its value.
    Stale(ETag),
    /// The row has this version and points to the entity with these keys.
    Owned(ETag, RowKeys),
}

/// The index rows that were read for a transaction. A row that was not read belongs to the entity if the entity had it
/// when it was loaded.
#[derive(Default)]
pub(crate) struct ReadRows(HashMap<(Cow<'static, str>, RowKeys), ReadRow>);

impl ReadRows {
    pub(crate) fn get(&self, table: &str, keys: &RowKeys) -> Option<&ReadRow> {
        // Most transactions read no row.
        if self.0.is_empty() { None } else { self.0.get(&(table.to_owned().into(), keys.clone())) }
    }

    pub(crate) fn insert(&mut self, table: Cow<'static, str>, keys: RowKeys, row: ReadRow) {
        self.0.insert((table, keys), row);
    }

    pub(crate) fn remove(&mut self, table: &str, keys: &RowKeys) {
        self.0.remove(&(table.to_owned().into(), keys.clone()));
    }
}

/// An operation on an index row.
pub(crate) struct IndexOperation<'a> {
    pub(crate) layout: usize,
    pub(crate) keys: &'a RowKeys,
    pub(crate) action: Action,
}

impl Change<'_> {
    /// A write that has no effect on index rows.
    pub(crate) const NONE: Self = Self { old: None, new: None };

    /// Checks whether the keys of the entity's row in a layout change.
    pub(crate) fn moves(&self, layout: usize) -> bool {
        self.old_keys(layout) != self.new.and_then(|new| new.keys(layout))
    }

    /// Checks whether a row that keeps its keys gets other properties.
    pub(crate) fn alters(&self, schema: &Schema, layout: usize) -> bool {
        match schema.holds(layout) {
            // A pointer to the same entity has the same properties.
            Holds::Pointer | Holds::List => false,
            Holds::Include => {
                let included = self.old_row(layout).and_then(|old| old.included.as_ref());
                included.is_none() || included != self.new.and_then(|new| new.row(layout)).map(|new| &new.properties)
            }
            Holds::Copy => true,
        }
    }

    pub(crate) fn old_keys(&self, layout: usize) -> Option<&RowKeys> {
        self.old_row(layout).map(|row| &row.keys)
    }

    fn old_row(&self, layout: usize) -> Option<&LoadedRow> {
        self.old.and_then(|rows| rows.get(layout)).and_then(Option::as_ref)
    }

    /// Returns the rows of unique indexes that the entity had, and that its transaction deletes or writes over. They
    /// belong to the entity only if their index is ready.
    pub(crate) fn unique_rows(&self, write: &Write) -> impl Iterator<Item = (usize, &RowKeys)> {
        let schema = &write.schema;
        let unique = write.in_transaction().filter(|layout| schema.is_unique(*layout));
        unique
            .filter(|layout| self.moves(*layout) || self.alters(schema, *layout))
            .filter_map(|layout| Some((layout, self.old_keys(layout)?)))
    }

    /// Returns the operations on the index rows that are in the entity's transaction, without those on lists.
    pub(crate) fn operations<'s>(
        &'s self,
        write: &Write,
        entity: &RowKeys,
        read: &ReadRows,
    ) -> Vec<IndexOperation<'s>> {
        let schema = &write.schema;
        let mut operations = Vec::with_capacity(schema.layouts.len());
        for layout in write.in_transaction().filter(|layout| schema.holds(*layout) != Holds::List) {
            let table = schema.layouts[layout].table;
            let new = self.new.and_then(|new| new.row(layout));
            let moves = self.moves(layout);
            if let Some(keys) = self.old_keys(layout).filter(|_| moves)
                && let Some(condition) = condition_of_owner(read.get(table, keys), entity)
            {
                operations.push(IndexOperation { layout, keys, action: Action::Delete(condition) });
            }
            if let Some(new) = new {
                let keys = &new.keys;
                let properties = || write.index_properties(layout, new);
                let action = match (read.get(table, keys), moves) {
                    (_, false) if !self.alters(schema, layout) => continue,
                    (Some(ReadRow::Stale(etag)), true) => Action::Replace(properties(), IfMatch::ETag(etag.clone())),
                    (_, true) if schema.is_unique(layout) => Action::Insert(properties()),
                    (None, _) | (_, true) => Action::Upsert(properties()),
                    (Some(ReadRow::Missing), false) => Action::Insert(properties()),
                    (row, false) => match condition_of_owner(row, entity) {
                        Some(condition) => Action::Replace(properties(), condition),
                        // The row belongs to another entity. This one has no row until a backfill decides which of the
                        // two has the value.
                        None => continue,
                    },
                };
                operations.push(IndexOperation { layout, keys, action });
            }
        }
        operations
    }
}

/// Returns the condition under which an entity may change a row that it had; `None` if the row belongs to another one.
fn condition_of_owner(row: Option<&ReadRow>, entity: &RowKeys) -> Option<IfMatch> {
    match row {
        None => Some(IfMatch::Any),
        Some(ReadRow::Owned(etag, owner)) if owner == entity => Some(IfMatch::ETag(etag.clone())),
        Some(_) => None,
    }
}
