//! The rows of events, and the marks by which the partitions with events are found.
//!
//! The row of an event is in the table and the partition of its entity. A mark is a row of one table for all entities; a
//! relay finds partitions by the marks alone.

pub use table_store::unstable::limits::MARKS;
use table_store::{
    Guid, PropertiesRef, RowRef, Ticks, ValueRef,
    unstable::{RowKeys, limits},
};
use twox_hash::XxHash3_64;

use crate::{
    entity::{EVENT_AT, KIND, PENDING, TableEntity, WRITE_ID, attempt},
    key::{Escape, KeyBuffer, hash::bucket, text::write_plain},
    layout::{Encoding, LayoutInfo, items, text},
};

/// Number of partitions over which the marks of an entity are distributed.
pub const BUCKETS: usize = 16;

/// Property of an event: what happened to the entity.
pub const CHANGE: &str = "EventChange";
/// Property of an event: the kind of the entity. A row with [`KIND`] would be an entity.
pub const EVENT_KIND: &str = "EventKind";
/// Property of an event: how often its delivery has failed.
pub const ATTEMPTS: &str = "EventAttempts";

/// Text with which the row keys of events and of failed events begin. No key text begins with two `~`, because a `~` in a
/// text is written as `~7E`.
const NOT_ENTITIES: &str = "~~";
/// Text with which the row keys of events begin.
pub const EVENTS: &str = "~~event-";
/// Text with which the row keys of failed events begin.
const FAILED: &str = "~~failed-";

/// Checks whether a row in the table of an entity with this primary key is an event, of this entity or another one. It is then
/// no entity and no row of an index, whatever its properties are.
#[inline]
pub fn is_event(primary: &LayoutInfo, row_key: &str) -> bool {
    row_key.starts_with(NOT_ENTITIES) && !may_be_key(primary)
}

/// Checks whether a row is an event of any entity, given nothing but the row.
pub fn is_stored_event(row: RowRef<'_>) -> bool {
    let rest = [EVENTS, FAILED].into_iter().find_map(|begin| row.row_key.strip_prefix(begin));
    let key = rest.and_then(|rest| rest.split_once(' ')).and_then(|(_, key)| EventKey::read_last(key));
    key.is_some() && row.properties.get(CHANGE).is_some()
}

/// Checks whether the row key of an entity may look like that of an event. Such an entity is in no table with events.
pub const fn may_be_key(primary: &LayoutInfo) -> bool {
    match items(&primary.row) {
        [first, ..] => text(&primary.row_prefix).is_empty() && Encoding::of(first).is_raw,
        [] => false,
    }
}

/// An entity whose writes record events: `#[table(events)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no events",
    label = "no `events`",
    note = "write `#[table(events)]` on the struct, or `#[table(events(copy))]` for events that have the entity as it was written"
)]
pub trait HasEvents: TableEntity {}

/// What a committed write did to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventChange {
    /// There was no entity with the key, or one that had expired. An entity in the bin is changed.
    Inserted,
    /// The entity was changed; also if it was deleted and inserted again in one transaction.
    Updated,
    /// The entity was deleted.
    Deleted,
    /// The entity had expired, and was deleted: by a sweep, or by a write that needed its key or one of its unique values.
    Expired,
}

impl EventChange {
    const ALL: [Self; 4] = [Self::Inserted, Self::Updated, Self::Deleted, Self::Expired];

    /// Returns the stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inserted => "Inserted",
            Self::Updated => "Updated",
            Self::Deleted => "Deleted",
            Self::Expired => "Expired",
        }
    }

    /// Returns the change of this stored name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.name() == name)
    }
}

/// The key of an event: its time, by which the events of one entity are in order, and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    /// The time of the write, by the store's clock. Of several events of one entity, a later one has a later time.
    pub at: Ticks,
    /// The same at each delivery of the event.
    pub id: Guid,
}

impl EventKey {
    /// Returns the row key of the event of an entity that is recorded under this name.
    pub fn row_key(self, entity: &str) -> String {
        self.row_key_in(Delivery::Waiting, entity)
    }

    /// Returns the row key of the event in this state.
    pub fn row_key_in(self, state: Delivery, entity: &str) -> String {
        format!("{}{:019}_{}", state.prefix(entity), self.at.get(), self.id)
    }

    /// Reads the row key of an event in this state; `None` if it is that of another row.
    pub fn read(state: Delivery, entity: &str, row_key: &str) -> Option<Self> {
        Self::read_last(row_key.strip_prefix(&*state.prefix(entity))?)
    }

    fn read_last(key: &str) -> Option<Self> {
        let (at, id) = key.split_at_checked(20)?;
        let at = at.strip_suffix('_').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
        Some(Self { at: Ticks::new(at.parse().ok()?)?, id: id.parse().ok()? })
    }
}

/// Whether an event still waits for its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A relay delivers it.
    Waiting,
    /// Its delivery has failed too often. No relay reads it.
    Failed,
}

impl Delivery {
    /// All states.
    pub const ALL: [Self; 2] = [Self::Waiting, Self::Failed];

    /// Returns the text with which the row keys of an entity's events in this state begin.
    pub fn prefix(self, entity: &str) -> String {
        let begin = match self {
            Self::Waiting => EVENTS,
            Self::Failed => FAILED,
        };
        key_of(begin, entity).into_string()
    }
}

/// Returns the beginning of the keys of an entity's events: this text, and the name of the entity with its delimiter.
fn key_of(begin: &str, entity: &str) -> KeyBuffer {
    let mut key = KeyBuffer::new();
    key.push_str(begin);
    write_plain(entity, Escape::part(false), &mut key);
    key.push(' ');
    key
}

/// The place of the events of one entity: the entity's table, and the name under which it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventPlace {
    /// The table; of an entity with slices, the beginning of their names.
    pub table: String,
    /// The name under which the entity is recorded.
    pub entity: String,
    /// True if the entity has a table for each year, month or day.
    pub is_sliced: bool,
}

impl EventPlace {
    /// Returns the place of the events of an entity with this primary key.
    pub fn of(primary: &LayoutInfo, entity: String) -> Self {
        Self { table: primary.table.to_string(), entity, is_sliced: primary.slice.is_some() }
    }

    /// Returns the keys of the mark of a partition with events in this state. `table` is the entity's table or one of its slices.
    pub fn mark(&self, state: Delivery, table: &str, partition_key: &str) -> RowKeys {
        let marks = match state {
            Delivery::Waiting => {
                let at = XxHash3_64::oneshot(partition_key.as_bytes()) % BUCKETS as u64;
                self.bucket(usize::try_from(at).unwrap_or_default())
            }
            Delivery::Failed => self.failed(),
        };
        RowKeys { partition_key: marks, row_key: self.marks_in(table) + partition_key }
    }

    /// Returns the text with which the row keys of the marks of a table begin.
    pub fn marks_in(&self, table: &str) -> String {
        let digits = table.get(self.table.len()..).filter(|_| self.is_sliced);
        digits.map_or_else(String::new, |digits| format!("{digits} "))
    }

    /// Returns the partition key of the marks of a bucket.
    pub fn bucket(&self, number: usize) -> String {
        self.key(&bucket(number, BUCKETS))
    }

    /// Returns the partition key of the marks of failed events.
    pub fn failed(&self) -> String {
        self.key("failed")
    }

    /// Returns the partition key of the leases of relays.
    pub fn relays(&self) -> String {
        self.key("relays")
    }

    /// Returns the table and the partition key of the events to which a mark leads.
    pub fn partition(&self, mark: &str) -> (String, String) {
        match mark.split_once(' ').filter(|_| self.is_sliced) {
            Some((digits, partition_key)) => (format!("{}{digits}", self.table), partition_key.to_owned()),
            None => (self.table.clone(), mark.to_owned()),
        }
    }

    /// Returns the text with which the partition keys of all marks of the entity begin, and of the leases of its relays.
    pub fn marks(&self) -> String {
        self.key("")
    }

    fn key(&self, last: &str) -> String {
        let mut key = key_of("", &self.table.to_ascii_lowercase());
        key.push_str(key_of("", &self.entity).as_str());
        key.push_str(last);
        key.into_string()
    }
}

/// Checks that the mark of a partition can be stored: its key may be longer than the partition's by the digits of a slice.
///
/// # Errors
/// The key is too long.
pub fn check_mark(keys: &RowKeys) -> table_store::Result<()> {
    limits::check_key(MARKS, "RowKey", &keys.row_key)
}

/// Checks whether a property of an entity's row is in the copy that an event has of the entity.
pub fn is_copied((name, value): (&str, ValueRef<'_>)) -> bool {
    match name {
        KIND | WRITE_ID | EVENT_AT => false,
        PENDING => attempt(value).is_none(),
        _ => true,
    }
}

/// Returns the ticks of an entity's last event, from its row.
pub fn last_event(properties: PropertiesRef<'_>) -> Option<Ticks> {
    match properties.get(EVENT_AT) {
        Some(ValueRef::Int64(ticks)) => Ticks::new(ticks.try_into().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_events_are_read_as_they_were_written() {
        let read = |entity: &str, row_key: &str| EventKey::read(Delivery::Waiting, entity, row_key);
        let at = "2010-05-28T00:00:00Z".parse().unwrap_or(Ticks::UNIX_EPOCH);
        let key = EventKey { at, id: Guid::from_bytes([0xAB; 16]) };
        let written = key.row_key("Order");
        assert_eq!(written, "~~event-Order 0634106016000000000_abababab-abab-abab-abab-abababababab");
        assert_eq!(read("Order", &written), Some(key));
        assert_eq!(read("Orders", &written), None);
        assert_eq!(read("Order", "~~event-Order "), None);
        // Names are escaped, so no entity has keys in the range of another one.
        let spaced = key.row_key("Order 5/2");
        assert!(spaced.starts_with("~~event-Order!205~2F2 0634106016000000000_"));
        assert_eq!(read("Order", &spaced), None);
        assert_eq!(read("Order 5/2", &spaced), Some(key));

        let failed = key.row_key_in(Delivery::Failed, "Order");
        assert_eq!(failed, "~~failed-Order 0634106016000000000_abababab-abab-abab-abab-abababababab");
        assert_eq!(EventKey::read(Delivery::Failed, "Order", &failed), Some(key));
        assert_eq!(read("Order", &failed), None);
    }

    #[test]
    fn a_mark_leads_to_its_partition() {
        let place = |is_sliced| EventPlace { table: "Orders".to_owned(), entity: "Order".to_owned(), is_sliced };
        let keys = |partition_key: &str| place(false).mark(Delivery::Waiting, "Orders", partition_key);
        assert_eq!(keys("shop 7").row_key, "shop 7");
        let buckets: std::collections::BTreeSet<_> =
            (0..200).map(|shop| keys(&format!("shop {shop}")).partition_key).collect();
        assert_eq!(buckets, (0..BUCKETS).map(|number| place(false).bucket(number)).collect());
        assert_eq!(buckets.first().map(String::as_str), Some("orders Order 00"));
        assert_eq!(place(false).partition("shop 7"), ("Orders".to_owned(), "shop 7".to_owned()));

        let mark = place(true).mark(Delivery::Failed, "Orders201005", "shop 7");
        assert_eq!((&*mark.partition_key, &*mark.row_key), ("orders Order failed", "201005 shop 7"));
        assert_eq!(place(true).partition(&mark.row_key), ("Orders201005".to_owned(), "shop 7".to_owned()));
    }
}
