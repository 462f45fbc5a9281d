//! Entities with events, and the events as they are stored.

use std::time::SystemTime;

use anyhow::{Context as _, Result};
use table_runtime::{
    EntityGroup, TableEntity, Ticks,
    row::{Properties, Row, ValueRef},
};
use tests::stores::Store;

/// An order, whose events have copies, with indexes in all places.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", kind, events(copy), expires = until, soft_delete = deleted)]
pub(crate) struct Order {
    #[partition_key]
    pub(crate) shop: String,
    #[row_key]
    pub(crate) number: u32,
    #[index(customer, same_partition)]
    pub(crate) customer: String,
    #[index(ticket, table = "Tickets", unique)]
    pub(crate) ticket: Option<String>,
    pub(crate) note: String,
    pub(crate) until: Option<SystemTime>,
    pub(crate) deleted: Option<SystemTime>,
}

impl Order {
    pub(crate) fn new(number: u32) -> Self {
        let (shop, customer, note) = ("shop".to_owned(), format!("customer {number}"), "new".to_owned());
        Self { shop, number, customer, ticket: None, note, until: None, deleted: None }
    }

    /// The order with a unique value of another partition, so that it is written in steps.
    pub(crate) fn with_ticket(number: u32, ticket: &str) -> Self {
        Self { ticket: Some(ticket.to_owned()), ..Self::new(number) }
    }
}

/// A reading without indexes and without a kind, whose events have no copies.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Readings", events)]
pub(crate) struct Reading {
    #[partition_key]
    pub(crate) sensor: String,
    #[row_key]
    pub(crate) number: String,
    pub(crate) value: i32,
}

impl Reading {
    pub(crate) fn new(number: u32) -> Self {
        Self { sensor: "a".to_owned(), number: format!("{number}"), value: 0 }
    }
}

/// A label whose row may have no property but those of the crate.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Labels", events(copy))]
pub(crate) struct Label {
    #[partition_key]
    pub(crate) tenant: String,
    #[row_key]
    pub(crate) name: String,
    pub(crate) note: Option<String>,
}

/// The parts of a visit, in one partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visits", events)]
pub(crate) struct Visit {
    #[partition_key]
    pub(crate) user: u32,
    #[row_key]
    pub(crate) id: u32,
    pub(crate) note: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visits", events(copy))]
pub(crate) struct Stop {
    #[partition_key]
    pub(crate) user: u32,
    #[row_key]
    pub(crate) id: u32,
    #[row_key]
    pub(crate) step: u32,
    pub(crate) note: String,
}

#[derive(EntityGroup, Clone, Debug, PartialEq)]
pub(crate) enum Tour {
    Visit(Visit),
    Stop(Stop),
}

/// An entry of a log with a table for each month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Log", slice = month(at), events)]
pub(crate) struct Entry {
    #[partition_key]
    pub(crate) service: String,
    #[row_key(time)]
    pub(crate) at: SystemTime,
    pub(crate) text: String,
}

/// An event as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredEvent {
    pub(crate) entity: String,
    pub(crate) at: Ticks,
    pub(crate) row: Row,
}

impl StoredEvent {
    /// Returns what happened, and a property of the event as text.
    pub(crate) fn shown(&self, property: &str) -> String {
        let text = |name: &str| self.row.properties.get(name).map_or_else(|| "-".to_owned(), |value| value.to_string());
        format!("{} {}", text("EventChange").trim_matches('\''), text(property).trim_matches('\''))
    }
}

/// Returns the events of a table, in the order of their keys.
pub(crate) async fn events(store: &Store, table: &str) -> Result<Vec<StoredEvent>> {
    let rows = store.rows(table).await?.into_iter();
    rows.filter(|row| row.row_key.starts_with("~~")).map(read).collect()
}

fn read(row: Row) -> Result<StoredEvent> {
    let event = row.row_key.strip_prefix("~~event-").context("the key of an event")?;
    let (entity, event) = event.split_once(' ').context("the entity")?;
    let (at, id) = event.split_once('_').context("the time")?;
    assert_eq!((at.len(), id.len()), (19, 36), "{event}");
    Ok(StoredEvent { entity: entity.to_owned(), at: Ticks::try_from(at.parse::<u64>()?)?, row })
}

/// Returns what the events of a table say, in their order: the change, and the property.
pub(crate) async fn shown(store: &Store, table: &str, property: &str) -> Result<Vec<String>> {
    Ok(events(store, table).await?.iter().map(|event| event.shown(property)).collect())
}

/// Returns the names and values of properties.
pub(crate) fn named(properties: &Properties) -> Vec<(String, String)> {
    let mut named: Vec<_> = properties.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    named.sort();
    named
}

/// Returns the keys of the marks.
pub(crate) async fn marks(store: &Store) -> Result<Vec<(String, String)>> {
    let mut rows = store.rows("TableEvents").await?;
    // The leases of relays are no marks.
    rows.retain(|row| !row.partition_key.ends_with(" relays"));
    assert!(rows.iter().all(|row| row.properties.is_empty()), "a mark has no properties");
    Ok(rows.into_iter().map(|row| (row.partition_key, row.row_key)).collect())
}

/// The value of `EventAt` in a row.
pub(crate) fn event_at(row: &Row) -> Option<u64> {
    match row.properties.get("EventAt") {
        Some(ValueRef::Int64(ticks)) => ticks.try_into().ok(),
        _ => None,
    }
}
