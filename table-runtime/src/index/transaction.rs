//! The index rows in the entity's own partition: operations of its own transaction.

use std::collections::HashMap;

use super::schema::{Encoded, Schema};
use crate::{
    ETag,
    backend::{Action, IfMatch, Operation},
    entity::{LoadedRow, LoadedRows, RowKeys},
    layout::Holds,
};

/// What a write makes of an entity: its rows before, and after.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) old: Option<&'a LoadedRows>,
    pub(crate) new: Option<&'a Encoded>,
}

/// What was found of an index row when a transaction failed at it.
pub(crate) enum Seen {
    /// It is not there: the index was added after the entity.
    Missing,
    /// It is there in this version, and belongs to no entity.
    Stale(ETag),
}

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

    /// The operations on the rows of indexes in the same partition, but for lists.
    pub(crate) fn operations(&self, schema: &Schema, seen: &HashMap<String, Seen>) -> Vec<Operation> {
        let mut operations = Vec::new();
        for layout in schema.same_partition().filter(|layout| schema.holds(*layout) != Holds::List) {
            let new = self.new.and_then(|new| new.row(layout));
            let moves = self.moves(layout);
            if let Some((_, row_key)) = self.old_keys(layout).filter(|_| moves)
                && !matches!(seen.get(row_key), Some(Seen::Missing))
            {
                operations.push(Operation { row_key: row_key.clone(), action: Action::Delete(IfMatch::Any) });
            }
            if let Some(new) = new {
                let (row_key, properties) = (new.keys.1.clone(), new.properties.clone());
                let action = match seen.get(&row_key) {
                    _ if !moves && !self.alters(schema, layout) => continue,
                    Some(Seen::Stale(etag)) => Action::Replace(properties, IfMatch::ETag(etag.clone())),
                    _ if moves && schema.is_unique(layout) => Action::Insert(properties),
                    _ => Action::Upsert(properties),
                };
                operations.push(Operation { row_key, action });
            }
        }
        operations
    }
}
