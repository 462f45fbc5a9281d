//! The rows of the events that a write records, and what they need of the entity's row before it.

use table_model::{
    EventChange,
    unstable::event::{is_copied, last_event},
};
use table_store::{Properties, PropertiesRef, Row, Ticks, ValueRef, backend::Action, unstable::RowKeys};

use super::schema::{FoundEntity, Schema};

/// The events of one write.
#[derive(Clone)]
pub struct RecordedEvents {
    /// The keys of the mark of the partition.
    pub mark: RowKeys,
    pub rows: Vec<EventRow>,
}

/// The row of an event.
#[derive(Clone)]
pub struct EventRow {
    pub row_key: String,
    pub change: EventChange,
    pub properties: Properties,
    /// True if the event also has what the write leaves in the entity's row.
    pub has_written: bool,
    /// The entity as it was, for an event that may be without it.
    pub deleted: Option<Properties>,
}

/// An entity's row before a write, as far as its events depend on it.
#[derive(Clone)]
pub struct RowBefore {
    /// The time of the last event.
    pub last: Ticks,
    pub properties: Properties,
    pub pointer: Properties,
}

impl RowBefore {
    /// Returns what was found; `None` if writes of the entity record no events, or if it is a pending insert, which was never
    /// committed.
    pub fn of(found: &FoundEntity) -> Option<Self> {
        let pointer = found.encoded.event_pointer.as_ref().filter(|_| found.pending.is_none())?.clone();
        let Row { properties, timestamp, .. } = &found.row;
        let last = last_event(properties.as_ref()).unwrap_or(*timestamp);
        Some(Self { last, properties: properties.clone(), pointer })
    }

    /// Checks whether the entity has expired at a moment.
    pub fn has_expired(&self, schema: &Schema, now: Ticks) -> bool {
        let until = schema.lifecycle.expires.and_then(|expires| self.properties.get(expires));
        matches!(until, Some(ValueRef::DateTime(until)) if until <= now)
    }
}

impl EventRow {
    /// Returns the properties of the event of an entity on whose row this action is carried out.
    pub fn properties(&self, action: &Action) -> Properties {
        match (action.properties(), &self.deleted) {
            (_, Some(deleted)) => copied(&self.properties, deleted.as_ref()),
            (Some(written), None) if self.has_written => copied(&self.properties, written.as_ref()),
            _ => self.properties.clone(),
        }
    }
}

/// Returns the properties of an event with those of the entity.
pub fn copied(event: &Properties, entity: PropertiesRef<'_>) -> Properties {
    let mut properties = event.clone_with_room(entity.as_bytes().len());
    entity.filter(|property| is_copied(*property)).for_each(|(name, value)| properties.push(name, value));
    properties
}
