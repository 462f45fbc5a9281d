//! The events of one entity, without its type.

use std::{sync::Arc, time::Duration};

use table_model::unstable::event::{Delivery, EventPlace, MARKS};
use table_store::{
    ETag, Error, Result, Row,
    backend::{Action, Backend, BackendExt, Group, IfMatch, KeyRange, Operation, Partitions, Scan},
    unstable::{RowKeys, client::Client, order::prefixed},
};

use crate::{client::tables::Tables, write::index::Schema};

/// Time after its deadline within which the service may still carry out a commit.
const LATE: Duration = Duration::from_mins(5);

/// The events of one entity in a store.
#[derive(Clone, Debug)]
pub struct EventSource {
    pub tables: Tables,
    pub place: EventPlace,
}

impl EventSource {
    /// Returns the events of an entity. Reads the name under which it is recorded.
    pub async fn of(tables: Tables, schema: Schema) -> Result<Self> {
        let recorded = tables.catalog().await?.primary(&schema.own_id()).map(|primary| primary.entity.clone());
        let mut place = tables.event_place(&schema);
        place.entity = recorded.unwrap_or(place.entity);
        Ok(Self { tables, place })
    }

    pub fn backend(&self) -> &Arc<Client> {
        self.tables.backend()
    }

    /// Returns the time after which no commit relies on a mark whose version has not changed, if no transaction has the mark
    /// and the event.
    pub fn mark_wait(&self) -> Duration {
        let lease = self.tables.mark_length();
        lease + lease / 10 + LATE
    }

    /// Returns the time after which no commit in time relies on a mark whose version has not changed.
    pub fn quiet_after(&self) -> Duration {
        let lease = self.tables.mark_length();
        lease + lease / 10
    }

    /// Returns the scan of the events of a partition.
    pub fn events(&self, state: Delivery, table: &str, partition_key: &str) -> Scan {
        let rows = prefixed(&state.prefix(&self.place.entity));
        let partitions = Partitions::One(partition_key.to_owned());
        Scan { partitions, rows, ..Scan::all(table.to_owned()) }
    }

    /// Reads the marks in these partitions.
    pub async fn marks(&self, partitions: Partitions) -> Result<Vec<Row>> {
        let scan = Scan { partitions, rows: KeyRange::ALL, ..Scan::all(MARKS) };
        let mut marks = Vec::new();
        let read = self.backend().read_all(&scan, |row| {
            marks.push(row.to_row());
            Ok(())
        });
        match read.await {
            Err(Error::TableNotFound(_)) => {}
            read => read?,
        }
        Ok(marks)
    }

    /// Returns how old the version of a mark is that has just been read, as far as it is known. On the service, both times are
    /// those of its clock.
    pub fn age(&self, mark: &Row) -> Duration {
        let description = self.backend().describe();
        if description.service.is_none() || !description.clock.is_of_store() {
            return Duration::ZERO;
        }
        let ticks = self.backend().earliest().get().saturating_sub(mark.timestamp.get());
        Duration::from_nanos(ticks.saturating_mul(100))
    }

    /// Returns the deletion of a mark, if it still has this version.
    pub fn deletion_of(mark: &RowKeys, version: &ETag) -> Group {
        let RowKeys { partition_key, row_key } = mark.clone();
        let operations = vec![Operation { row_key, action: Action::Delete(IfMatch::ETag(version.clone())) }];
        Group { table: MARKS.into(), partition_key, operations }
    }

    /// Deletes a mark. Returns false if it does not have this version any more.
    pub async fn delete_mark(&self, mark: &RowKeys, version: &ETag) -> Result<bool> {
        match self.backend().execute_group(&Self::deletion_of(mark, version)).await {
            Ok(_) => Ok(true),
            Err(Error::ConditionNotMet(_) | Error::NotFound(_) | Error::OutcomeUnknown(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Counts the events of the partition to which a mark with this row key leads.
    pub async fn count(&self, mark: &str) -> Result<usize> {
        let (table, partition_key) = self.place.partition(mark);
        let mut scan = self.events(Delivery::Waiting, &table, &partition_key);
        scan.select = Some([].as_slice().into());
        let mut count = 0;
        let read = self.backend().read_all(&scan, |_| {
            count += 1;
            Ok(())
        });
        match read.await {
            Err(Error::TableNotFound(_)) => {}
            read => read?,
        }
        Ok(count)
    }
}
