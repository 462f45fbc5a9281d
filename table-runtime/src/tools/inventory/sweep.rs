//! Sweep by the recorded layouts: see [`Tables::sweep`].

use std::{collections::BTreeMap, time::Duration};

use table_store::{
    ETag, Error, Result, Row, RowId, RowRef,
    backend::{Action, BackendExt, Group, IfMatch, Operation, Scan},
    unstable::{RowKeys, ScanProgress, client::Client},
};

use super::{Inventory, LayoutState, RecordedEntity, RecordedLayout, expected, identify::identified, recorded};
use crate::{
    client::{pacing, tables::Tables},
    model::{
        codec::is_unreadable,
        entity::{PENDING, attempt},
        lifecycle::Sweepings,
    },
    write::{bulk::is_of_entity, index::operations_without},
};

/// Number of rows that are read before the catalog is read again.
const PAGE: u32 = 100;

/// What [`Inventory::sweep`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepOptions {
    /// The least time in the bin after which an entity is removed; `None` if the bin stays as it is.
    pub deleted_before: Option<Duration>,
    /// True to find the entities and to remove none of them.
    pub dry_run: bool,
}

/// The result of [`Inventory::sweep`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweptRows {
    /// Number of entities that were found to have expired, or to be in the bin for long enough.
    pub found: u64,
    /// Number of them that were removed: 0 for a dry run. Other writers changed or removed the others meanwhile, unless
    /// they are `left`.
    pub removed: u64,
    /// Number of entities that were not removed, by the index as `Post.title` whose keys cannot be computed: its field is
    /// stored in a form of the program's own, a row without the property is read with a default, or the row has an older
    /// version. Also those with too many or damaged index rows. [`Tables::sweep`] removes them, or reports why it cannot.
    pub left: BTreeMap<String, u64>,
    /// Number of rows that could not be read.
    pub unreadable: u64,
    /// True if the catalog's record of the entity has changed since the inventory was taken. The sweep ended there. Take the
    /// inventory again for the rest.
    pub is_outdated: bool,
}

impl SweptRows {
    fn count(&mut self, removal: SweepOutcome) {
        match removal {
            SweepOutcome::Done => self.removed += 1,
            SweepOutcome::Changed => {}
            SweepOutcome::Left(index) => *self.left.entry(index).or_default() += 1,
        }
    }
}

impl Inventory {
    /// Removes the entities that have expired by the store's clock, with their index rows, without the entity's type.
    /// `on_found` receives each of them. It does nothing if the entity is recorded without `expires` and `soft_delete`, or
    /// was moved.
    ///
    /// Each entity is removed in the version whose time was read, so programs may write at any time. It reads each index row
    /// before it deletes it, which [`Tables::sweep`] does not. It reads the catalog again for each 100 rows, and ends if the
    /// entity's record has changed.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub async fn sweep(
        &self,
        tables: &Tables,
        entity: &RecordedEntity,
        options: SweepOptions,
        mut on_found: impl FnMut(&RowId),
    ) -> Result<SweptRows> {
        let mut swept = SweptRows::default();
        let Some(entity) = self.entities.iter().find(|own| *own == entity) else {
            swept.is_outdated = true;
            return Ok(swept);
        };
        let Some(primary) = entity.primary().filter(|_| entity.moved.is_none()) else { return Ok(swept) };
        let client = tables.backend();
        let sweepings =
            Sweepings { lifecycle: entity.lifecycle(), in_bin: options.deleted_before, now: client.earliest() };
        // Without a condition, no entity would be removed.
        let Some(condition) = sweepings.condition() else { return Ok(swept) };
        for table in self.tables_of(primary) {
            let scan = Scan { page: PAGE, filter: Some(condition.clone()), ..Scan::all(table.to_owned()) };
            let mut progress = ScanProgress::default();
            while !progress.has_ended() {
                if !self.is_current(tables, entity).await? {
                    swept.is_outdated = true;
                    return Ok(swept);
                }
                let rows = client.next_page(&scan, &mut progress).await?;
                // An answer of the service may have set the clock back.
                let sweepings = Sweepings { now: sweepings.now.min(client.earliest()), ..sweepings };
                let mut found: Vec<Row> = Vec::new();
                for row in rows.iter().filter(|row| self.is_committed(table, *row, entity)) {
                    match sweepings.include(table, row) {
                        Ok(true) => found.push(row.to_row()),
                        Ok(false) => {}
                        Err(error) if is_unreadable(&error) => swept.unreadable += 1,
                        Err(error) => return Err(error),
                    }
                }
                swept.found += found.len() as u64;
                for row in &found {
                    on_found(&row.as_ref().id(table));
                }
                if !options.dry_run {
                    // Entities of one partition may share a list, so they are removed one after another.
                    let partitions = found.chunk_by(|one, other| one.partition_key == other.partition_key);
                    let removals = partitions.map(|rows| self.remove_all(client, table, rows));
                    for removals in pacing::in_waves(removals).await {
                        removals?.into_iter().for_each(|removal| swept.count(removal));
                    }
                }
            }
        }
        Ok(swept)
    }

    /// Checks whether a row is that of a committed entity of this kind. A pending insert is its writer's.
    fn is_committed(&self, table: &str, row: RowRef<'_>, entity: &RecordedEntity) -> bool {
        let found = self.identify(table, row);
        let is_own = found.is_some_and(|found| std::ptr::eq(found.entity, entity) && found.layout.index.is_none());
        is_own && row.properties.get(PENDING).and_then(attempt).is_none()
    }

    /// Checks whether programs still write the entity as this inventory describes it. A program that has another index would
    /// find its rows without their entities.
    async fn is_current(&self, tables: &Tables, entity: &RecordedEntity) -> Result<bool> {
        let records = tables.catalog().await?.records;
        Ok(recorded::entities(&records).iter().any(|recorded| recorded == entity))
    }

    async fn remove_all(&self, client: &Client, table: &str, rows: &[Row]) -> Result<Vec<SweepOutcome>> {
        let mut removals = Vec::with_capacity(rows.len());
        for row in rows {
            removals.push(match self.remove(client, table, row).await {
                Err(error) if is_of_entity(&error) => {
                    tracing::warn!(target: "table_runtime::sweep", table, %error, "an entity that has expired was left");
                    SweepOutcome::Left(self.identify(table, row.as_ref()).map_or_else(String::new, |row| row.entity.name.clone()))
                }
                removed => removed?,
            });
        }
        Ok(removals)
    }

    /// Removes an entity in the version that was read, in the order of [`Tables::delete`]: it reads the versions of its index
    /// rows, deletes the entity with those of its partition, and then the others.
    async fn remove(&self, client: &Client, table: &str, row: &Row) -> Result<SweepOutcome> {
        let Some(found) = self.identify(table, row.as_ref()) else { return Ok(SweepOutcome::Changed) };
        let primary = found.layout;
        let own = RowKeys { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() };
        let mut operations = vec![delete(&own.row_key, row.etag.clone())];
        let mut released = Vec::new();
        let indexes = found.entity.layouts.iter().filter(|layout| layout.index.is_some());
        for index in indexes.filter(|index| index.state != LayoutState::Gone) {
            let is_known = found.entity.knows_rows_of(row.as_ref());
            let Some(expected) = expected::keys(index, row.as_ref(), &found).filter(|_| is_known) else {
                return Ok(SweepOutcome::Left(format!("{}.{}", found.entity.name, index.name)));
            };
            let is_in_partition = index.is_same_partition();
            // The slices of an index are those of its entity.
            let slice = if index.is_sliced() { &table[primary.table.len()..] } else { "" };
            let index_table = if is_in_partition { table.to_owned() } else { format!("{}{slice}", index.table) };
            for (partition_key, row_key) in expected {
                let keys = RowKeys { partition_key, row_key };
                if index.is_list() {
                    operations.extend(operations_without(client, table, &keys, &own).await?);
                    continue;
                }
                let of = (found.entity, &own);
                let Some(version) = Self::version(client, (&index_table, index), &keys, of).await? else { continue };
                let deletion = delete(&keys.row_key, version);
                if is_in_partition {
                    operations.push(deletion);
                } else {
                    let RowKeys { partition_key, .. } = keys;
                    let table = index_table.clone().into();
                    released.push(Group { table, partition_key, operations: vec![deletion] });
                }
            }
        }
        let group = Group { table: table.to_owned().into(), partition_key: own.partition_key, operations };
        group.check()?;
        match client.execute(&group).await {
            Ok(_) => {}
            Err(error) if is_lost_race(&error) => return Ok(SweepOutcome::Changed),
            Err(error) => return Err(error),
        }
        for deleted in pacing::in_waves(released.iter().map(|group| client.execute(group))).await {
            match deleted {
                Ok(_) => {}
                // Another writer has taken the row over, or has removed it.
                Err(error) if is_lost_race(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(SweepOutcome::Done)
    }

    /// Reads a row of an index, and returns its version; `None` if it does not belong to the entity.
    async fn version(
        client: &Client,
        (table, index): (&str, &RecordedLayout),
        keys: &RowKeys,
        (entity, own): (&RecordedEntity, &RowKeys),
    ) -> Result<Option<ETag>> {
        let Some(row) = client.get(table, &keys.partition_key, &keys.row_key, None).await? else { return Ok(None) };
        let found = identified(entity, index, &keys.partition_key, &keys.row_key, None);
        let owner = found.and_then(|found| expected::owner(row.as_ref(), &found));
        let is_own = owner.is_some_and(|(partition_key, row_key)| RowKeys { partition_key, row_key } == *own);
        Ok(is_own.then_some(row.etag))
    }
}

/// The outcome for an entity.
enum SweepOutcome {
    Done,
    /// Another writer changed or removed it first.
    Changed,
    /// The keys of its rows in this index cannot be computed.
    Left(String),
}

fn delete(row_key: &str, version: ETag) -> Operation {
    Operation { row_key: row_key.to_owned(), action: Action::Delete(IfMatch::ETag(version)) }
}

/// Checks whether another writer was faster.
const fn is_lost_race(error: &Error) -> bool {
    matches!(error, Error::ConditionNotMet(_) | Error::NotFound(_) | Error::AlreadyExists(_))
}
