//! Events that have failed too often: they have keys of their own, and marks of their own.

use std::pin::pin;

use futures_util::future::{Either, select};
use table_model::unstable::event::{ATTEMPTS, Delivery, EventKey, MARKS};
use table_store::{
    Error, Guid, Properties, Result, Row,
    backend::{Action, BackendExt, Group, IfMatch, Operation, Partitions, Reach},
    unstable::RowKeys,
};

use super::{
    event::StoredEvent,
    source::{EventSource, existing},
};
use crate::write::index::Schema;

/// A stored event whose delivery has failed too often.
#[derive(Clone, Debug)]
pub struct FailedRow {
    pub key: EventKey,
    pub table: String,
    pub row: Row,
}

impl FailedRow {
    pub fn stored(self, schema: Schema) -> StoredEvent {
        StoredEvent::new(&schema, self.key, self.row)
    }
}

/// Moves an event to the failed ones, with these properties. Returns false if another relay has changed it.
pub(super) async fn put_aside(
    source: &EventSource,
    place: (&str, &str),
    event: &StoredEvent,
    counted: Properties,
) -> Result<bool> {
    let moved =
        async |properties| transfer(source, place, (&event.row, event.key), (Delivery::Failed, properties)).await;
    let mut done = moved(event.row.properties.as_ref().merge(counted.as_ref())).await;
    if done.as_ref().is_err_and(is_full) {
        done = moved(event.row.properties.clone()).await;
    }
    match done {
        // If it was not carried out, the next read finds the event.
        Err(Error::OutcomeUnknown(_) | Error::NoAnswer { .. }) => {
            let row_key = event.key.row_key_in(Delivery::Failed, &source.place.entity);
            let moved = source.backend().get(place.0, place.1, &row_key, Some(&[])).await;
            Ok(existing(moved)?.flatten().is_some())
        }
        moved => Ok(existing(moved)?.unwrap_or_default()),
    }
}

/// Checks whether a row has no room for one more property.
pub(super) fn is_full(error: &Error) -> bool {
    match error {
        Error::Limit(_) => true,
        Error::Service(error) => matches!(error.status, 400 | 413),
        _ => false,
    }
}

/// Moves an event to another state. Returns false if somebody else has changed or deleted it.
async fn transfer(
    source: &EventSource,
    (table, partition_key): (&str, &str),
    (row, key): (&Row, EventKey),
    (to, properties): (Delivery, Properties),
) -> Result<bool> {
    let backend = source.backend();
    let mark = source.place.mark(to, table, partition_key);
    let delete = Operation { row_key: row.row_key.clone(), action: Action::Delete(IfMatch::ETag(row.etag.clone())) };
    let row_key = key.row_key_in(to, &source.place.entity);
    // An earlier attempt may have moved it, and its answer may be lost. Then the event is gone.
    let insert = Operation { row_key, action: Action::Upsert(properties) };
    let (table, partition_key) = (table.to_owned(), partition_key.to_owned());
    let mut groups = vec![Group { table: table.into(), partition_key, operations: vec![delete, insert] }];
    let done = if backend.reach() == Reach::Store {
        let RowKeys { partition_key, row_key } = mark;
        let operations = vec![Operation { row_key, action: Action::Upsert(Properties::default()) }];
        groups.push(Group { table: MARKS.into(), partition_key, operations });
        backend.execute_all(&groups).await
    } else {
        let lease = source.tables.mark(&mark).await?;
        let (moved, deadline) =
            (pin!(backend.execute_all(&groups)), pin!(backend.deadline(lease.left(backend.clock()))));
        match select(moved, deadline).await {
            Either::Left((moved, _)) => moved,
            Either::Right(_) => {
                let (table, reason) = (groups[0].table.to_string(), "the lease of its mark has ended".to_owned());
                return Err(Error::NoAnswer { table, operation: "move of an event", reason, request: None });
            }
        }
    };
    match done.map_err(Error::from) {
        Ok(_) => Ok(true),
        Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl EventSource {
    /// Returns the failed events, in the order of their partitions and times. Deletes marks to which no event belongs any more.
    pub async fn failed(&self) -> Result<Vec<FailedRow>> {
        let mut failed = Vec::new();
        for mark in self.marks(Partitions::One(self.place.failed())).await? {
            let (table, partition_key) = self.place.partition(&mark.row_key);
            // Only a read that begins after the wait shows that nobody relies on the mark.
            let is_old = self.is_old(&mark);
            let found = self.failed_in(&table, &partition_key).await?;
            if found.is_empty() && is_old {
                // The handle may be one that only reads.
                drop(self.delete_mark(&mark.as_ref().keys(), &mark.etag).await);
            }
            failed.extend(found);
        }
        Ok(failed)
    }

    async fn failed_in(&self, table: &str, partition_key: &str) -> Result<Vec<FailedRow>> {
        let scan = self.events(Delivery::Failed, table, partition_key);
        let mut found = Vec::new();
        let read = self.read(&scan, |row| {
            let key = EventKey::read(Delivery::Failed, &self.place.entity, row.row_key);
            found.extend(key.map(|key| FailedRow { key, table: table.to_owned(), row: row.to_row() }));
        });
        read.await?;
        Ok(found)
    }

    /// Checks whether nobody relies on a mark that has just been read, unless its version changes.
    fn is_old(&self, mark: &Row) -> bool {
        self.backend().reach() == Reach::Store || self.age(mark) > self.mark_wait()
    }

    async fn find_failed(&self, id: Guid) -> Result<Option<FailedRow>> {
        Ok(self.failed().await?.into_iter().find(|failed| failed.key.id == id))
    }

    /// Lets relays deliver a failed event again, as if it had never failed. Returns false if there is none with this id.
    pub async fn retry(&self, id: Guid) -> Result<bool> {
        let Some(FailedRow { key, table, row }) = self.find_failed(id).await? else { return Ok(false) };
        let mut properties = Properties::with_capacity(row.properties.as_ref().as_bytes().len());
        row.properties
            .iter()
            .filter(|(name, _)| *name != ATTEMPTS)
            .for_each(|(name, value)| properties.push(name, value));
        transfer(self, (&table, &row.partition_key), (&row, key), (Delivery::Waiting, properties)).await
    }

    /// Deletes a failed event. Returns false if there is none with this id.
    pub async fn discard(&self, id: Guid) -> Result<bool> {
        let Some(FailedRow { table, row, .. }) = self.find_failed(id).await? else { return Ok(false) };
        let operations = vec![Operation { row_key: row.row_key, action: Action::Delete(IfMatch::Any) }];
        let group = Group { table: table.into(), partition_key: row.partition_key, operations };
        match self.backend().execute(&group).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
