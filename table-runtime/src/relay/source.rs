//! The events of one entity, without its type.

use std::{ops::Bound, sync::Arc, time::Duration};

use table_model::unstable::event::{BUCKETS, Delivery, EventPlace, MARKS};
use table_store::{
    ETag, Error, Result, Row, RowId, RowRef,
    backend::{Action, Backend, BackendExt, Group, IfMatch, KeyRange, Operation, Partitions, Scan},
    unstable::{RowKeys, ScanProgress, client::Client, order::prefixed},
};

use crate::{
    client::{
        pacing,
        tables::{ReadRecord, Tables},
    },
    write::index::Schema,
};

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

    /// Returns the events of a recorded entity, if it records some.
    pub fn recorded(tables: &Tables, primary: &ReadRecord) -> Option<Self> {
        primary.facts.events.filter(|_| primary.is_primary())?;
        Some(Self { tables: tables.clone(), place: EventPlace::of(&primary.layout, primary.entity.clone()) })
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

    /// Returns the partitions of the marks of these buckets, the last one included.
    pub fn buckets(&self, first: usize, last: usize) -> Partitions {
        let [from, to] = [first, last].map(|bucket| Bound::Included(self.place.bucket(bucket)));
        Partitions::Range(KeyRange { from, to })
    }

    /// Reads the marks in these partitions.
    pub async fn marks(&self, partitions: Partitions) -> Result<Vec<Row>> {
        let scan = Scan { partitions, rows: KeyRange::ALL, ..Scan::all(MARKS) };
        let mut marks = Vec::new();
        self.read(&scan, |row| marks.push(row.to_row())).await?;
        Ok(marks)
    }

    /// Checks whether there is a mark.
    pub async fn has_mark(&self, mark: &RowKeys) -> Result<bool> {
        let read = self.backend().get(MARKS, &mark.partition_key, &mark.row_key, Some(&[])).await;
        Ok(existing(read)?.flatten().is_some())
    }

    /// Returns the scan of all marks of the entity, and of the leases of its relays.
    pub fn all_marks(&self) -> Scan {
        let (partitions, select) = (Partitions::Range(prefixed(&self.place.marks())), Some([].as_slice().into()));
        Scan { partitions, rows: KeyRange::ALL, select, ..Scan::all(MARKS) }
    }

    /// Returns an event of a table, in any state, if there is one. It finds the partitions by their marks.
    pub async fn find(&self, table: &str) -> Result<Option<RowId>> {
        let scan = Scan { rows: prefixed(&self.place.marks_in(table)), ..self.all_marks() };
        let mut marks = Vec::new();
        self.read(&scan, |row| marks.push(row.keys())).await?;
        for mark in marks.into_iter().filter(|mark| mark.partition_key != self.place.relays()) {
            let state = if mark.partition_key == self.place.failed() { Delivery::Failed } else { Delivery::Waiting };
            let (own, partition_key) = self.place.partition(&mark.row_key);
            if let Some(event) = self.first(state, &own, &partition_key).await? {
                return Ok(Some(RowId::of(table, &event)));
            }
        }
        Ok(None)
    }

    /// Reads rows. A table that does not exist has none: a slice may be dropped.
    pub async fn read(&self, scan: &Scan, mut each: impl FnMut(RowRef<'_>) + Send) -> Result<()> {
        let read = self.backend().read_all(scan, |row| {
            each(row);
            Ok(())
        });
        existing(read.await).map(Option::unwrap_or_default)
    }

    /// Returns the keys of the first event of a partition.
    pub async fn first(&self, state: Delivery, table: &str, partition_key: &str) -> Result<Option<RowKeys>> {
        let keys = Some([].as_slice().into());
        let scan = Scan { page: 1, select: keys, ..self.events(state, table, partition_key) };
        let mut progress = ScanProgress::default();
        while !progress.has_ended() {
            let Some(rows) = existing(self.backend().next_page(&scan, &mut progress).await)? else { break };
            if let Some(first) = rows.iter().next() {
                return Ok(Some(first.keys()));
            }
        }
        Ok(None)
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

    /// Counts the events that wait for their delivery.
    pub async fn waiting(&self) -> Result<usize> {
        let marks = self.marks(self.buckets(0, BUCKETS - 1)).await?;
        let mut waiting = 0;
        for count in pacing::in_waves(marks.iter().map(|mark| self.count(&mark.row_key))).await {
            waiting += count?;
        }
        Ok(waiting)
    }

    /// Counts the events of the partition to which a mark with this row key leads.
    pub async fn count(&self, mark: &str) -> Result<usize> {
        let (table, partition_key) = self.place.partition(mark);
        let mut scan = self.events(Delivery::Waiting, &table, &partition_key);
        scan.select = Some([].as_slice().into());
        let mut count = 0;
        self.read(&scan, |_| count += 1).await?;
        Ok(count)
    }
}

/// Returns what was read; `None` if there is no such table.
pub fn existing<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) => Ok(None),
        read => read.map(Some),
    }
}
