//! The index rows in the entity's own partition: operations of its own transaction.

use std::collections::HashMap;

use super::schema::{Encoded, Schema};
use crate::{
    ETag,
    backend::{Action, IfMatch, Operation},
    entity::{LoadedRow, LoadedRows},
    layout::Holds,
    row::RowKeys,
};

/// What a write makes of an entity: its rows before, and after.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) old: Option<&'a LoadedRows>,
    pub(crate) new: Option<&'a Encoded>,
}

/// An index row as it was read for a transaction.
pub(crate) enum Seen {
    /// The row does not exist: the index was added after the entity.
    Missing,
    /// The row has this version, and no entity that readers see has its value.
    Stale(ETag),
    /// The row has this version and leads to the entity with this row key.
    Owned(ETag, String),
}

/// The index rows that were read for a transaction, by their row keys. A row that was not read is the entity's own if
/// the entity had it when it was loaded.
pub(crate) type SeenRows = HashMap<String, Seen>;

impl Change<'_> {
    /// Whether the entity's row in a layout is another one than before.
    pub(crate) fn moves(&self, layout: usize) -> bool {
        self.old_keys(layout) != self.new.and_then(|new| new.keys(layout))
    }

    /// Whether a row that stays where it is holds something else than before.
    pub(crate) fn alters(&self, schema: &Schema, layout: usize) -> bool {
        match schema.holds(layout) {
            // What leads to the same entity says the same.
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

    /// The operations on the rows of indexes in the same partition, but for lists. `entity` is the entity's row key.
    pub(crate) fn operations(&self, schema: &Schema, entity: &str, seen: &SeenRows) -> Vec<Operation> {
        let mut operations = Vec::new();
        for layout in schema.same_partition().filter(|layout| schema.holds(*layout) != Holds::List) {
            let new = self.new.and_then(|new| new.row(layout));
            let moves = self.moves(layout);
            if let Some((_, row_key)) = self.old_keys(layout).filter(|_| moves)
                && let Some(condition) = own(seen.get(row_key), entity)
            {
                operations.push(Operation { row_key: row_key.clone(), action: Action::Delete(condition) });
            }
            if let Some(new) = new {
                let (row_key, properties) = (new.keys.1.clone(), new.properties.clone());
                let action = match (seen.get(&row_key), moves) {
                    (_, false) if !self.alters(schema, layout) => continue,
                    (Some(Seen::Stale(version)), true) => Action::Replace(properties, IfMatch::ETag(version.clone())),
                    (_, true) if schema.is_unique(layout) => Action::Insert(properties),
                    (None, _) | (_, true) => Action::Upsert(properties),
                    (Some(Seen::Missing), false) => Action::Insert(properties),
                    (row, false) => match own(row, entity) {
                        Some(condition) => Action::Replace(properties, condition),
                        // The row is another entity's: this entity has none until a backfill settles whose value it is.
                        None => continue,
                    },
                };
                operations.push(Operation { row_key, action });
            }
        }
        operations
    }
}

/// Returns the condition under which an entity may change a row that it had; `None` if the row is not its own.
fn own(seen: Option<&Seen>, entity: &str) -> Option<IfMatch> {
    match seen {
        None => Some(IfMatch::Any),
        Some(Seen::Owned(version, owner)) if owner == entity => Some(IfMatch::ETag(version.clone())),
        Some(_) => None,
    }
}
