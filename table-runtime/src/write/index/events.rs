//! The events that a commit records: rows in the transaction of the entities, and the marks of their partitions.

use table_model::{
    EventChange, EventContent,
    unstable::{
        entity::EVENT_AT,
        event::{CHANGE, Delivery, EVENT_KIND, EventKey, EventPlace, check_mark},
    },
};
use table_store::{
    Guid, Properties, Result, Ticks, ValueRef,
    backend::{Action, Reach},
    unstable::{RowKeys, limits},
};

use super::{
    change::Planned,
    entity_write::{Before, BegunWrite, Verb},
    event_row::{EventRow, RecordedEvents, RowBefore, copied},
    members::is_same_type,
    schema::Schema,
    write::Write,
};
use crate::client::{pacing, tables::Tables};

/// Leaves out the copies of entities that are deleted, so that the size of the transaction refuses no deletion. Returns false
/// if there are none.
pub(super) fn leave_out_deleted(planned: &mut [Planned<'_>]) -> bool {
    let rows = planned.iter_mut().filter_map(|planned| planned.events.as_mut()).flat_map(|events| &mut events.rows);
    // Each of them, not the first one alone.
    rows.filter_map(|event| event.deleted.take()).count() > 0
}

impl Write {
    /// Checks whether the write records events. A migration moves entities, and changes none.
    pub fn records(&self) -> bool {
        self.schema.events.is_some() && !self.tables.leases().is_of_migration()
    }

    /// Returns the place of the entity's events.
    fn event_place(&self) -> EventPlace {
        self.tables.event_place(&self.schema)
    }

    /// Returns the keys of the mark of the partition with the events of this entity.
    ///
    /// # Errors
    /// The key of the mark is too long.
    fn mark(&self, place: &EventPlace, entity: &RowKeys) -> Result<RowKeys> {
        let mark = place.mark(Delivery::Waiting, &self.table_of(entity)?, &entity.partition_key);
        check_mark(&mark)?;
        Ok(mark)
    }
}

impl Tables {
    /// Returns the place of an entity's events: its name there is that under which it is recorded.
    pub(crate) fn event_place(&self, schema: &Schema) -> EventPlace {
        let entity = self.leases().name(&schema.own_id()).unwrap_or_else(|| schema.entity.to_owned());
        EventPlace::of(&schema.layouts[0], entity)
    }
}

/// Writes the marks of these writes, beside their first requests, for the handle's leases. The commit asks for the leases, and
/// reports an error.
pub async fn write_marks(writes: impl Iterator<Item = (&Write, &RowKeys)>) {
    let mut marks: Vec<(&Write, RowKeys)> = Vec::new();
    for (write, keys) in writes.filter(|(write, _)| write.records() && write.reach == Reach::Partition) {
        if let Ok(mark) = write.mark(&write.event_place(), keys)
            && marks.iter().all(|(_, other)| *other != mark)
        {
            marks.push((write, mark));
        }
    }
    pacing::in_waves(marks.iter().map(|(write, mark)| write.tables.mark(mark))).await;
}

/// Lets whoever writes marks of the same bucket next write that of this write too.
pub fn announce_mark(write: &Write, keys: &RowKeys) {
    if write.records()
        && write.reach == Reach::Partition
        && let Ok(mark) = write.mark(&write.event_place(), keys)
    {
        write.tables.announce_mark(mark);
    }
}

/// Adds to planned writes, which begin with these reads, the events that they record.
///
/// # Errors
/// The key of a mark is too long.
pub(super) fn record(writes: &[BegunWrite], before: &[Option<Before>], planned: &mut [Planned<'_>]) -> Result<()> {
    // The events of one transaction have successive times.
    let mut last = None;
    for at in 0..planned.len() {
        let (BegunWrite { write, entity }, before) = (&writes[at], before[at].as_ref());
        if planned[at].fences || !write.records() {
            continue;
        }
        let row = before.and_then(|before| before.row.as_deref()).or(entity.row_before());
        // A sweep deletes entities in the bin as it deletes those that have expired.
        let has_expired = match (entity.verb, row) {
            (Verb::Expire, Some(row)) => row.has_expired(&write.schema, write.backend().earliest()),
            _ => before.is_some_and(|before| before.has_expired),
        };
        let is_replaced = replaces(planned, at);
        let new = entity.new_rows().and_then(|rows| rows.event_pointer.as_ref());
        let place = &write.event_place();
        let mut events = EventWriter { write, name: &place.entity, last: &mut last, row, rows: Vec::with_capacity(1) };
        match &planned[at].action {
            Action::Delete(_) if has_expired => events.before(EventChange::Expired)?,
            Action::Delete(_) => events.before(EventChange::Deleted)?,
            Action::Merge(set, _) => events.patched(set)?,
            _ if has_expired => {
                events.before(EventChange::Expired)?;
                events.written(EventChange::Inserted, new)?;
            }
            _ if is_replaced || row.is_some() => events.written(EventChange::Updated, new)?,
            _ => events.written(EventChange::Inserted, new)?,
        }
        let (rows, mark) = (events.rows, write.mark(place, planned[at].keys)?);
        let planned = &mut planned[at];
        planned.action = with_time(planned.action.clone(), last);
        planned.is_checked.0 = false;
        planned.events = Some(Box::new(RecordedEvents { mark, rows }));
    }
    Ok(())
}

/// Checks whether a write inserts an entity that its transaction has deleted. For readers, the entity is changed, so the
/// deletion records no event.
fn replaces(planned: &mut [Planned<'_>], at: usize) -> bool {
    let (earlier, [this, ..]) = planned.split_at_mut(at) else { return false };
    let is_deleted = |other: &&mut Planned<'_>| {
        matches!(other.action, Action::Delete(_)) && other.keys == this.keys && is_same_type(other, this)
    };
    let Some(events) = earlier.iter_mut().find(is_deleted).and_then(|deleted| deleted.events.as_mut()) else {
        return false;
    };
    events.rows.extract_if(.., |event| event.change == EventChange::Deleted).next().is_some()
}

/// Returns the action on an entity's row with the time of its last event.
fn with_time(action: Action, last: Option<Ticks>) -> Action {
    let ticks = last.and_then(|last| i64::try_from(last.get()).ok()).unwrap_or_default();
    let with = |properties: Properties| {
        let mut properties = properties.clone_with_room(32);
        properties.push(EVENT_AT, ValueRef::Int64(ticks));
        properties
    };
    match action {
        Action::Insert(properties) => Action::Insert(with(properties)),
        Action::Upsert(properties) => Action::Upsert(with(properties)),
        Action::Replace(properties, condition) => Action::Replace(with(properties), condition),
        Action::Merge(properties, condition) => Action::Merge(with(properties), condition),
        Action::Delete(condition) => Action::Delete(condition),
    }
}

/// Writes the events of one write.
struct EventWriter<'a> {
    write: &'a Write,
    name: &'a str,
    /// The time of the last event of the transaction.
    last: &'a mut Option<Ticks>,
    row: Option<&'a RowBefore>,
    rows: Vec<EventRow>,
}

impl EventWriter<'_> {
    /// Adds the event of an entity that is not there any more.
    fn before(&mut self, change: EventChange) -> Result<()> {
        let (row_key, properties) = self.begin(change, self.row.map(|row| &row.pointer))?;
        let deleted = self.row.filter(|_| self.has_copies()).map(|row| row.properties.clone());
        // A deletion must not be refused. The partition key is not what makes a row too large.
        let fits = |deleted: &Properties| {
            let copy = copied(&properties, deleted.as_ref());
            limits::check_row(self.write.schema.table(), "", &row_key, copy.as_ref()).is_ok()
        };
        let deleted = deleted.filter(fits);
        self.rows.push(EventRow { row_key, change, properties, has_written: false, deleted });
        Ok(())
    }

    /// Adds the event of an entity that the write leaves in its row.
    fn written(&mut self, change: EventChange, pointer: Option<&Properties>) -> Result<()> {
        let (row_key, properties) = self.begin(change, pointer)?;
        let has_written = self.has_copies();
        self.rows.push(EventRow { row_key, change, properties, has_written, deleted: None });
        Ok(())
    }

    /// Adds the event of an entity whose row gets these properties.
    fn patched(&mut self, set: &Properties) -> Result<()> {
        let change = EventChange::Updated;
        let (row_key, mut properties) = self.begin(change, self.row.map(|row| &row.pointer))?;
        if let (Some(row), true) = (self.row, self.has_copies()) {
            properties = copied(&properties, row.properties.as_ref().merge(set.as_ref()).as_ref());
        }
        self.rows.push(EventRow { row_key, change, properties, has_written: false, deleted: None });
        Ok(())
    }

    fn has_copies(&self) -> bool {
        self.write.schema.events == Some(EventContent::Copy)
    }

    /// Returns the row key of the next event, and its properties without a copy.
    fn begin(&mut self, change: EventChange, pointer: Option<&Properties>) -> Result<(String, Properties)> {
        let after = |ticks: Option<Ticks>| ticks.and_then(|ticks| Ticks::new(ticks.get() + 1));
        let next = after(*self.last).unwrap_or_else(|| self.write.backend().now());
        let at = after(self.row.map(|row| row.last)).map_or(next, |earliest| earliest.max(next));
        *self.last = Some(at);
        let mut properties = Properties::with_capacity(128);
        properties.push(CHANGE, ValueRef::String(change.name()));
        if let Some(kind) = self.write.schema.kind() {
            properties.push(EVENT_KIND, ValueRef::String(kind));
        }
        for (name, value) in pointer.into_iter().flat_map(Properties::iter) {
            properties.push(name, value);
        }
        Ok((EventKey { at, id: Guid::random()? }.row_key(self.name), properties))
    }
}
