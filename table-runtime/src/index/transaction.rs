//! The index rows in the entity's own partition: operations of its own transaction.

use std::collections::HashMap;

use super::schema::{Encoded, Schema};
use crate::{
    ETag,
    backend::{Action, IfMatch, Operation},
    entity::Keys,
    layout::Holds,
};

/// What a write makes of an entity: its keys before, and its rows after.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) old: Option<&'a Keys>,
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

    pub(crate) fn old_keys(&self, layout: usize) -> Option<&crate::entity::RowKeys> {
        self.old.and_then(|keys| keys.get(layout)).and_then(Option::as_ref)
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
                    // A pointer to the same entity says the same.
                    _ if !moves && schema.holds(layout) == Holds::Pointer => continue,
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
