//! An event as its consumer gets it.

use std::{fmt, time::SystemTime};

use table_model::{
    EventChange, EventContent, TableEntity,
    unstable::{
        entity::StoredRow,
        event::{ATTEMPTS, CHANGE, EVENT_KIND, EventKey},
        layout::has_property,
    },
};
use table_store::{Guid, Properties, Result, Row, RowRef, Ticks, ValueRef, unstable::RowKeys};

use crate::{
    query::{Point, Primary},
    read::Plan,
    write::index::Schema,
};

/// A committed write of an entity with `#[table(events)]`.
pub struct Event<E> {
    key: EventKey,
    change: EventChange,
    attempts: u32,
    owner: RowKeys,
    entity: Option<E>,
}

/// An event as it is stored.
#[derive(Debug)]
pub struct StoredEvent {
    pub key: EventKey,
    /// The keys of the entity.
    pub owner: RowKeys,
    pub row: Row,
}

impl StoredEvent {
    /// Returns the event in a row. If its entity cannot be read from the row, it has keys of its own, as an entity without
    /// others.
    pub fn new(schema: &Schema, key: EventKey, row: Row) -> Self {
        let own = || RowKeys { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() };
        let owner = schema.owner_of_event(row.as_ref()).ok().flatten().unwrap_or_else(own);
        Self { key, owner, row }
    }

    /// Returns how often the delivery of the event has failed.
    pub fn attempts(&self) -> u32 {
        attempts(self.row.as_ref())
    }
}

/// Returns how often the delivery of an event has failed.
pub fn attempts(row: RowRef<'_>) -> u32 {
    match row.properties.get(ATTEMPTS) {
        Some(ValueRef::Int32(attempts)) => attempts.try_into().unwrap_or_default(),
        _ => 0,
    }
}

/// Returns what happened to the entity, as an event of any program says it.
pub fn change(row: RowRef<'_>) -> Option<EventChange> {
    match row.properties.get(CHANGE) {
        Some(ValueRef::String(name)) => EventChange::named(name),
        _ => None,
    }
}

impl<E: TableEntity> Event<E> {
    /// Reads a stored event.
    ///
    /// # Errors
    /// The keys or the copy of the entity cannot be read.
    pub(super) fn read(stored: &StoredEvent) -> Result<Self> {
        let StoredEvent { key, owner, row } = stored;
        // An event whose entity cannot be found has keys of its own.
        if owner.row_key == row.row_key {
            Schema::of::<E>().owner_of_event(row.as_ref())?;
        }
        let pointer =
            E::INFO.event_rows.and_then(|rows| rows.index.as_ref()).map_or([].as_slice(), |index| &index.pointer);
        let is_of_event = |name: &str| {
            matches!(name, CHANGE | EVENT_KIND | ATTEMPTS) || pointer.iter().any(|property| property.name == name)
        };
        let mut copy = Properties::with_capacity(row.properties.as_ref().as_bytes().len());
        row.properties.iter().filter(|(name, _)| !is_of_event(name)).for_each(|(name, value)| copy.push(name, value));
        let RowKeys { partition_key, row_key } = owner;
        let own = RowRef { partition_key, row_key, properties: copy.as_ref(), ..row.as_ref() };
        let read = (E::INFO.events == Some(EventContent::Copy)).then(|| StoredRow::of_copy(E::INFO, &own).read::<E>());
        let entity = match read {
            // There is no copy, or one without properties. The entity may be one without any.
            Some(Err(_)) if copy.iter().all(|(name, _)| !has_property(E::INFO.fields, name)) => None,
            read => read.transpose()?,
        };
        Ok(Self {
            key: *key,
            change: change(row.as_ref()).unwrap_or(EventChange::Updated),
            attempts: stored.attempts(),
            owner: owner.clone(),
            entity: entity.map(|read| read.entity),
        })
    }

    /// Reads an event that was put aside. It has no copy if the copy cannot be read.
    pub(super) fn of_failed(stored: StoredEvent) -> Self {
        Self::read(&stored).unwrap_or_else(|_| Self {
            key: stored.key,
            change: change(stored.row.as_ref()).unwrap_or(EventChange::Updated),
            attempts: stored.attempts(),
            owner: stored.owner,
            entity: None,
        })
    }

    /// Returns the id of the event, which is the same at each delivery. A consumer that must not act twice keeps the ids that
    /// it has seen.
    pub const fn id(&self) -> Guid {
        self.key.id
    }

    /// Returns the time of the write, by the clock of the writer's store. Of two events of one entity, the later one has the
    /// later time.
    pub fn at(&self) -> SystemTime {
        self.key.at.to_system().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns the time of the write in ticks of 100 nanoseconds.
    pub const fn ticks(&self) -> Ticks {
        self.key.at
    }

    /// Returns what the write did to the entity.
    pub const fn change(&self) -> EventChange {
        self.change
    }

    /// Returns how often the delivery of the event has failed.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the query of the entity, which may have changed since.
    pub fn key(&self) -> Point<E, Primary> {
        Point::new(Plan::of_stored::<E>(Ok(self.owner.clone())))
    }

    /// Returns the entity as it was written, or of a deletion, as it was. `None` without `#[table(events(copy))]`, of events
    /// that were recorded without it, and of a deletion whose copy did not fit.
    pub const fn entity(&self) -> Option<&E> {
        self.entity.as_ref()
    }

    /// Returns the entity by value: see [`entity`](Self::entity).
    pub fn into_entity(self) -> Option<E> {
        self.entity
    }
}

impl<E> fmt::Debug for Event<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, change, attempts, .. } = self;
        f.debug_struct("Event")
            .field("id", &key.id)
            .field("at", &key.at)
            .field("change", change)
            .field("attempts", attempts)
            .finish_non_exhaustive()
    }
}
