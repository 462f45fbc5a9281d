//! The effect of a write on an entity's rows, and its operations on index rows in the entity's own partition.

use std::collections::HashMap;

use super::{
    schema::{Encoded, Schema},
    write::Write,
};
use crate::{
    ETag,
    backend::{Action, IfMatch, Operation},
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
    /// The row has this version and points to the entity with this row key.
    Owned(ETag, String),
}

/// The index rows that were read for a transaction, by their row keys. A row that was not read belongs to the entity if
/// the entity had it when it was loaded.
pub(crate) type ReadRows = HashMap<String, ReadRow>;

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

    /// Returns the rows that the entity had in unique indexes of its partition and that this change deletes or writes
    /// over. They belong to the entity only if their index is ready.
    pub(crate) fn unique_rows(&self, schema: &Schema) -> impl Iterator<Item = (usize, &RowKeys)> {
        let unique = schema.same_partition().filter(|layout| schema.is_unique(*layout));
        unique
            .filter(|layout| self.moves(*layout) || self.alters(schema, *layout))
            .filter_map(|layout| Some((layout, self.old_keys(layout)?)))
    }

    /// Returns the operations on index rows in the entity's partition, without those on lists. `entity` is the entity's
    /// row key.
    pub(crate) fn operations(&self, schema: &Schema, entity: &str, read: &ReadRows) -> Vec<Operation> {
        let mut operations = Vec::new();
        for layout in schema.same_partition().filter(|layout| schema.holds(*layout) != Holds::List) {
            let new = self.new.and_then(|new| new.row(layout));
            let moves = self.moves(layout);
            if let Some(RowKeys { row_key, .. }) = self.old_keys(layout).filter(|_| moves)
                && let Some(condition) = condition_of_owner(read.get(row_key), entity)
            {
                operations.push(Operation { row_key: row_key.clone(), action: Action::Delete(condition) });
            }
            if let Some(new) = new {
                let (row_key, properties) = (new.keys.row_key.clone(), new.properties.clone());
                let action = match (read.get(&row_key), moves) {
                    (_, false) if !self.alters(schema, layout) => continue,
                    (Some(ReadRow::Stale(etag)), true) => Action::Replace(properties, IfMatch::ETag(etag.clone())),
                    (_, true) if schema.is_unique(layout) => Action::Insert(properties),
                    (None, _) | (_, true) => Action::Upsert(properties),
                    (Some(ReadRow::Missing), false) => Action::Insert(properties),
                    (row, false) => match condition_of_owner(row, entity) {
                        Some(condition) => Action::Replace(properties, condition),
                        // The row belongs to another entity. This one has no row until a backfill decides which of the
                        // two has the value.
                        None => continue,
                    },
                };
                operations.push(Operation { row_key, action });
            }
        }
        operations
    }
}

/// Returns the condition under which an entity may change a row that it had; `None` if the row belongs to another one.
fn condition_of_owner(row: Option<&ReadRow>, entity: &str) -> Option<IfMatch> {
    match row {
        None => Some(IfMatch::Any),
        Some(ReadRow::Owned(etag, owner)) if owner == entity => Some(IfMatch::ETag(etag.clone())),
        Some(_) => None,
    }
}
