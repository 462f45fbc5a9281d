//! The rows of events, and the marks by which the partitions with events are found.
//!
//! The row of an event is in the table and the partition of its entity. A mark is a row of one table for all entities; a
//! relay finds partitions by the marks alone.

pub use table_store::unstable::limits::MARKS;
use table_store::{
    Guid, PropertiesRef, Ticks, ValueRef,
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

/// Text with which the row keys of events begin, and of no other row. No key text begins with two `~`, because a `~` in a
/// text is written as `~7E`.
const NOT_ENTITIES: &str = "~~";
/// Text with which the row keys of events begin.
pub const EVENTS: &str = "~~event-";

/// Checks whether a row in the table of an entity with this primary key is an event, of this entity or another one. It is then
/// no entity and no row of an index, whatever its properties are.
#[inline]
pub fn is_event(primary: &LayoutInfo, row_key: &str) -> bool {
    row_key.starts_with(NOT_ENTITIES) && !may_be_key(primary)
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
        let mut key = key_of(EVENTS, entity);
        key.push_str(&format!("{:019}_{}", self.at.get(), self.id));
        key.into_string()
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

/// Returns the keys of the mark of a partition. `slice` are the digits of the table, if the entity has a table for each year,
/// month or day.
pub fn mark_keys(table: &str, entity: &str, slice: Option<&str>, partition_key: &str) -> RowKeys {
    let mut key = key_of("", &table.to_ascii_lowercase());
    key.push_str(key_of("", entity).as_str());
    let at = XxHash3_64::oneshot(partition_key.as_bytes()) % BUCKETS as u64;
    key.push_str(&bucket(usize::try_from(at).unwrap_or_default(), BUCKETS));
    let row_key = slice.map_or_else(|| partition_key.to_owned(), |digits| format!("{digits} {partition_key}"));
    RowKeys { partition_key: key.into_string(), row_key }
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
    fn no_entity_has_events_in_the_range_of_another_one() {
        let at = "2010-05-28T00:00:00Z".parse().unwrap_or(Ticks::UNIX_EPOCH);
        let key = EventKey { at, id: Guid::from_bytes([0xAB; 16]) };
        assert_eq!(key.row_key("Order"), "~~event-Order 0634106016000000000_abababab-abab-abab-abab-abababababab");
        assert!(key.row_key("Order 5/2").starts_with("~~event-Order!205~2F2 0634106016000000000_"));
    }

    #[test]
    fn marks_are_distributed_by_the_partition_key() {
        let keys = |partition_key: &str| mark_keys("Orders", "Order", None, partition_key);
        assert_eq!(keys("shop 7").row_key, "shop 7");
        let buckets: std::collections::BTreeSet<_> =
            (0..200).map(|shop| keys(&format!("shop {shop}")).partition_key).collect();
        assert_eq!((buckets.len(), buckets.first().map(String::as_str)), (BUCKETS, Some("orders Order 00")));
        assert_eq!(mark_keys("Log", "Entry", Some("201005"), "a").row_key, "201005 a");
    }
}
