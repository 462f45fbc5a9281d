//! The effect of a write on an entity's rows, and its operations on the index rows that are in the entity's transaction.

use std::{borrow::Cow, collections::HashMap};

use table_model::{Holds, unstable::entity::LoadedRow};
use table_store::{
    ETag,
    backend::{Action, IfMatch},
    unstable::RowKeys,
};

use super::{
    event_row::RecordedEvents,
    schema::{EncodedRow, Schema},
    write::Write,
};

/// The rows of an entity before and after a write, in any number for each index, in the order of their layouts and keys.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    pub old: &'a [LoadedRow],
    pub new: &'a [EncodedRow],
}

/// The part of a transaction that concerns one entity.
#[derive(Clone)]
pub struct Planned<'a> {
    pub write: &'a Write,
    pub change: Change<'a>,
    pub keys: &'a RowKeys,
    /// The operation on the entity's own row.
    pub action: Action,
    /// Whether the entity's own row, and whether its index rows, were checked against the service's limits when the entity
    /// was encoded.
    pub is_checked: (bool, bool),
    /// Whether a row in the way of an insert decides about the next attempt, which reads it whole: its entity may have
    /// expired.
    pub defers: bool,
    /// Whether the write changes nothing of the entity but its version: it writes index rows alone.
    pub fences: bool,
    /// Whether such a write reads first which rows of elements there are.
    pub looks: bool,
    /// The events that the write records.
    pub events: Option<Box<RecordedEvents>>,
}

/// An index row that was read for a transaction.
pub enum ReadRow {
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
pub struct ReadRows(HashMap<(Cow<'static, str>, RowKeys), ReadRow>);

impl ReadRows {
    pub fn get(&self, table: &str, keys: &RowKeys) -> Option<&ReadRow> {
        // Most transactions read no row.
        if self.0.is_empty() { None } else { self.0.get(&(table.to_owned().into(), keys.clone())) }
    }

    pub fn insert(&mut self, table: Cow<'static, str>, keys: RowKeys, row: ReadRow) {
        self.0.insert((table, keys), row);
    }

    pub fn remove(&mut self, table: &str, keys: &RowKeys) {
        self.0.remove(&(table.to_owned().into(), keys.clone()));
    }
}

/// An operation on an index row.
pub struct IndexOperation<'a> {
    pub layout: usize,
    pub keys: &'a RowKeys,
    pub action: Action,
}

impl<'a> Change<'a> {
    /// Returns the rows that the entity has in an index and did not have.
    pub fn added(self, layout: usize) -> impl Iterator<Item = &'a EncodedRow> {
        self.new_rows(layout).filter(move |new| self.old_row(new).is_none())
    }

    /// Returns the rows that the entity had in an index and does not have any more.
    pub fn removed(self, layout: usize) -> impl Iterator<Item = &'a LoadedRow> {
        self.old.iter().filter(move |old| old.layout == layout && !self.has(layout, &old.keys))
    }

    /// Checks whether the entity has its rows in all indexes under the same keys as before.
    pub fn keeps_keys(self, schema: &Schema) -> bool {
        let indexes = 1..schema.layouts.len();
        indexes.clone().all(|layout| self.added(layout).next().is_none() && self.removed(layout).next().is_none())
    }

    /// Returns the rows that keep their keys and get other properties.
    pub fn altered(self, schema: &Schema, layout: usize) -> impl Iterator<Item = &'a EncodedRow> {
        let holds = schema.holds(layout);
        let is_altered = move |new: &EncodedRow| self.old_row(new).is_some_and(|old| alters(holds, old, new));
        self.new_rows(layout).filter(move |new| is_altered(new))
    }

    /// Returns the keys of the rows in an index that the entity had or has afterwards.
    pub fn keys(self, layout: usize) -> impl Iterator<Item = &'a RowKeys> {
        let old = self.old.iter().filter(move |old| old.layout == layout).map(|old| &old.keys);
        old.chain(self.added(layout).map(|new| &new.keys))
    }

    fn new_rows(self, layout: usize) -> impl Iterator<Item = &'a EncodedRow> {
        self.new.iter().filter(move |new| new.layout == layout)
    }

    /// Returns the row that the entity had with the keys of a new row.
    fn old_row(self, new: &EncodedRow) -> Option<&'a LoadedRow> {
        self.old_at(new.layout, &new.keys)
    }

    fn old_at(self, layout: usize, keys: &RowKeys) -> Option<&'a LoadedRow> {
        let at = self.old.binary_search_by(|old| (old.layout, &old.keys).cmp(&(layout, keys)));
        Some(&self.old[at.ok()?])
    }

    /// Checks whether the entity has the row of an index after the write.
    pub fn has(self, layout: usize, keys: &RowKeys) -> bool {
        self.new.binary_search_by(|new| (new.layout, &new.keys).cmp(&(layout, keys))).is_ok()
    }

    /// Checks whether the row of an index becomes one of the entity's.
    pub fn adds(self, layout: usize, keys: &RowKeys) -> bool {
        self.has(layout, keys) && self.old_at(layout, keys).is_none()
    }

    /// Returns the rows of unique indexes that the entity had, and that its transaction deletes or writes over. They
    /// belong to the entity only if their index is ready.
    pub fn unique_rows(self, write: &'a Write) -> impl Iterator<Item = (usize, &'a RowKeys)> {
        let schema = &write.schema;
        write.in_transaction().filter(|layout| schema.is_unique(*layout)).flat_map(move |layout| {
            let removed = self.removed(layout).map(|old| &old.keys);
            let written = self.altered(schema, layout).map(|new| &new.keys);
            removed.chain(written).map(move |keys| (layout, keys))
        })
    }

    /// Returns the operations on the index rows that are in the entity's transaction, without those on lists.
    pub fn operations(self, write: &Write, entity: &RowKeys, read: &ReadRows) -> Vec<IndexOperation<'a>> {
        let schema = &write.schema;
        let mut operations = Vec::with_capacity(schema.layouts.len());
        for layout in write.in_transaction().filter(|layout| schema.holds(*layout) != Holds::List) {
            let table = &schema.layouts[layout].table;
            for LoadedRow { keys, .. } in self.removed(layout) {
                if let Some(condition) = condition_of_owner(read.get(table, keys), entity) {
                    operations.push(IndexOperation { layout, keys, action: Action::Delete(condition) });
                }
            }
            for new in self.added(layout) {
                let stale = match read.get(table, &new.keys) {
                    Some(ReadRow::Stale(etag)) => Some(etag),
                    _ => None,
                };
                operations.push(IndexOperation { layout, keys: &new.keys, action: write.put_row(new, stale) });
            }
            for new in self.altered(schema, layout) {
                let row = read.get(table, &new.keys);
                let action = match (row, condition_of_owner(row, entity)) {
                    (None, _) => Action::Upsert(write.index_properties(new)),
                    (Some(ReadRow::Missing), _) => Action::Insert(write.index_properties(new)),
                    (Some(_), Some(condition)) => Action::Replace(write.index_properties(new), condition),
                    // The row belongs to another entity. This one has no row until a backfill decides which of the
                    // two has the value.
                    (Some(_), None) => continue,
                };
                operations.push(IndexOperation { layout, keys: &new.keys, action });
            }
        }
        operations
    }
}

/// Checks whether a row that keeps its keys gets other properties.
fn alters(holds: Holds, old: &LoadedRow, new: &EncodedRow) -> bool {
    match holds {
        // A pointer to the same entity has the same properties.
        Holds::Pointer | Holds::List => false,
        Holds::Include => old.included.as_ref().is_none_or(|included| *included != new.properties),
        Holds::Copy => true,
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
