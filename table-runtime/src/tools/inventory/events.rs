//! The events of recorded entities.

use table_model::EventChange;
use table_store::{Guid, Result, TableRow, Ticks};

use super::RecordedEntity;
use crate::{
    client::tables::Tables,
    relay::{EventSource, attempts, change},
};

/// The events of a recorded entity: see [`RecordedEntity::events_in`].
#[derive(Debug)]
pub struct EntityEvents(EventSource);

/// An event that was put aside because its delivery has failed too often.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FailedEvent {
    /// The id, which is the same at each delivery.
    pub id: Guid,
    /// The time of the write.
    pub at: Ticks,
    /// What the write did to the entity; `None` if another program has changed the event.
    pub change: Option<EventChange>,
    /// Number of attempts to deliver it.
    pub attempts: u32,
    /// The stored row, with the fields of the entity's row key, and the copy of the entity, if it has one.
    pub row: TableRow,
}

impl RecordedEntity {
    /// Returns the events of the entity in a store; `None` if the catalog does not record that it has some.
    ///
    /// ```
    /// use table_runtime::{TableEntity, Tables};
    ///
    /// #[derive(TableEntity)]
    /// #[table(events)]
    /// struct Order {
    ///     #[partition_key]
    ///     shop: String,
    ///     #[row_key]
    ///     number: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// let tables = Tables::in_memory()?;
    /// tables.create::<Order>().await?;
    /// tables.insert(&Order { shop: "books".into(), number: 1 }).await?;
    ///
    /// let inventory = tables.inventory().await?;
    /// let events = inventory.entities[0].events_in(&tables).expect("it has `events`");
    /// assert_eq!(events.waiting().await?, 1);
    /// for failed in events.failed().await? {
    ///     println!("{} has failed {} times", failed.id, failed.attempts);
    /// }
    /// # Ok::<(), table_runtime::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn events_in(&self, tables: &Tables) -> Option<EntityEvents> {
        self.event_source(tables).map(EntityEvents)
    }
}

impl EntityEvents {
    /// Counts the events that no relay has delivered, without those that were put aside. It reads their keys.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn waiting(&self) -> Result<usize> {
        self.0.waiting().await
    }

    /// Returns the events that were put aside, in the order of their partitions and times.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn failed(&self) -> Result<Vec<FailedEvent>> {
        let failed = self.0.failed().await?.into_iter().map(|failed| FailedEvent {
            id: failed.key.id,
            at: failed.key.at,
            change: change(failed.row.as_ref()),
            attempts: attempts(failed.row.as_ref()),
            row: TableRow::of(&failed.table, failed.row.as_ref()),
        });
        Ok(failed.collect())
    }

    /// Lets relays deliver an event again that was put aside: see [`Relay::retry`](crate::events::Relay::retry). Returns false
    /// if there is none with this id.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn retry(&self, id: Guid) -> Result<bool> {
        self.0.retry(id).await
    }

    /// Deletes an event that was put aside. Returns false if there is none with this id.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn discard(&self, id: Guid) -> Result<bool> {
        self.0.discard(id).await
    }

    /// Takes back [`Tables::require_events`]: programs without the attribute are admitted again, and what they write has no
    /// event. Returns false if events were not required.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn make_optional(&self) -> Result<bool> {
        self.0.tables.make_events_optional(&self.0.place).await
    }
}
