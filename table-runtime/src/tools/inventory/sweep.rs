//! Sweep by the recorded layouts: see [`Tables::sweep`].

use std::{borrow::Cow, sync::Arc};

use table_model::{
    HasBin, Lifecycle,
    unstable::{
        entity::{PENDING, attempt},
        layout::LayoutExt,
        lifecycle::Sweepings,
    },
};
use table_store::{
    ETag, Error, Result, Row, RowId,
    backend::{Action, BackendExt, BoxFuture, Group, IfMatch, Operation, Scan},
    error::QueryError,
    unstable::{RowKeys, client::Client},
};

use super::{
    Inventory, LayoutInfo, LayoutState, RecordedEntity, expected, recorded,
    rows::{RecordedRows, index_name},
};
use crate::{
    admin::{
        jobs::{Described, Job, Sweep, Sweeping, Swept, hash_described},
        scan::Section,
    },
    client::{
        pacing,
        tables::{KEY, Tables},
    },
    write::{
        bulk::is_of_entity,
        index::{FoundEntity, operations_without},
    },
};

/// Number of rows that are read before the catalog is read again.
const PAGE: u32 = 100;

/// The states of the indexes that have rows of an entity.
const STATES: &[LayoutState] = &[LayoutState::Building, LayoutState::Ready, LayoutState::Leaving];

impl Inventory {
    /// Removes the entities that have expired by the store's clock, with their index rows, without the entity's type. It is
    /// the job of [`Tables::sweep`], with the same options. It does nothing if the entity is recorded without `expires` and
    /// `soft_delete`, or was moved.
    ///
    /// Each entity is removed in the version whose time was read, so programs may write at any time. It reads each index row
    /// before it deletes it, which [`Tables::sweep`] does not. It reads the catalog again for each 100 rows, and ends if the
    /// entity's record has changed.
    ///
    /// # Errors
    /// Returns [`Error::Query`] if the entity records events, and the errors of the store.
    pub fn sweep<'a>(&self, tables: &Tables, entity: &RecordedEntity) -> Job<'a, Sweep<'a, RecordedEntity>> {
        let client = Arc::clone(tables.backend());
        let rows = RecordedRows::new(self, tables, client, |own| own == entity, STATES);
        let of = RecordedSweep { rows, entity: entity.clone() };
        let of: Result<Arc<dyn Sweeping>> = match (&entity.events, entity.primary()) {
            (Some(_), Some(primary)) => Err(records_events(primary, entity)),
            _ => Ok(Arc::new(of)),
        };
        Job::new(Sweep::new(of, hash_described("sweep", &format!("{entity:?}"))))
    }
}

/// Returns the error of an entity each of whose deletions records an event.
fn records_events(primary: &LayoutInfo, entity: &RecordedEntity) -> Error {
    let problem = format!(
        "`{}` records events, which a sweep without its struct cannot; sweep it with a program: `tables.sweep::<{0}>()`",
        entity.name
    );
    Box::new(QueryError::new(primary.table.to_string(), KEY, problem)).into()
}

/// Whether it has one is recorded.
#[diagnostic::do_not_recommend]
impl HasBin for RecordedEntity {}

/// The entities of one record.
struct RecordedSweep {
    rows: RecordedRows,
    entity: RecordedEntity,
}

impl Sweeping for RecordedSweep {
    fn client(&self) -> &Arc<Client> {
        self.rows.tables.backend()
    }

    fn lifecycle(&self) -> Lifecycle<'_> {
        self.entity.lifecycle()
    }

    fn sections<'s>(&'s self, sweepings: Sweepings<'s>) -> BoxFuture<'s, Result<Option<Vec<Section>>>> {
        Box::pin(async move {
            if !self.rows.inventory.entities.contains(&self.entity) {
                return Ok(None);
            }
            let Some(primary) = self.entity.primary().filter(|_| self.entity.moved.is_none()) else {
                return Ok(Some(Vec::new()));
            };
            let section = |table: &str| {
                let scan = Scan { page: PAGE, filter: sweepings.condition(), ..Scan::all(table.to_owned()) };
                Section { layout: 0, scan, is_slice: primary.is_sliced() }
            };
            Ok(Some(self.rows.inventory.tables_of(primary).into_iter().map(section).collect()))
        })
    }

    fn owner(&self, _layout: usize, row: &Row) -> Result<RowKeys> {
        Ok(row.as_ref().keys())
    }

    fn read<'s>(
        &'s self,
        _layout: usize,
        table: Cow<'static, str>,
        row: Row,
        sweepings: Sweepings<'s>,
    ) -> BoxFuture<'s, Result<Option<FoundEntity>>> {
        Box::pin(async move {
            // A pending insert is its writer's.
            let identified = self.rows.inventory.identify(&table, row.as_ref());
            let is_own = identified.as_ref().is_some_and(|found| {
                *found.entity == self.entity && found.layout.index.is_none() && pending(&row).is_none()
            });
            if !is_own || !sweepings.include(&table, row.as_ref())? {
                return Ok(None);
            }
            Ok(identified.map(|identified| self.rows.found(row.clone(), &identified)))
        })
    }

    fn row_id(&self, table: &str, found: &FoundEntity) -> RowId {
        RowId::of(table, &found.encoded.primary.keys)
    }

    fn remove<'s>(&'s self, table: &'s str, found: Vec<FoundEntity>) -> BoxFuture<'s, Result<Swept>> {
        Box::pin(async move {
            // Entities of one partition may share a list, so they are removed one after another.
            let in_one = |one: &FoundEntity, other: &FoundEntity| one.row.partition_key == other.row.partition_key;
            let removals = found.chunk_by(in_one).map(|found| self.remove_partition(table, found));
            let mut all = Swept::default();
            for removals in pacing::in_waves(removals).await {
                for removal in removals? {
                    match removal {
                        SweepOutcome::Done => all.removed += 1,
                        SweepOutcome::Changed => {}
                        SweepOutcome::Left(index) => {
                            all.left += 1;
                            *all.unknown.entry(index).or_default() += 1;
                        }
                    }
                }
            }
            Ok(all)
        })
    }

    /// Checks whether programs still write the entity as the inventory describes it. A program that has another index would
    /// find its rows without their entities.
    fn is_current(&self) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async {
            let records = self.rows.tables.catalog().await?.records;
            Ok(recorded::entities(&records).contains(&self.entity))
        })
    }
}

impl RecordedSweep {
    async fn remove_partition(&self, table: &str, found: &[FoundEntity]) -> Result<Vec<SweepOutcome>> {
        let mut removals = Vec::with_capacity(found.len());
        for found in found {
            let mut delays = pacing::delays();
            let mut removed = self.remove_one(table, found).await;
            // Entities of another page may share a list with this one.
            while matches!(removed, Ok(SweepOutcome::Changed))
                && self.is_unchanged(table, found).await?
                && delays.wait(self.client()).await
            {
                removed = self.remove_one(table, found).await;
            }
            removals.push(match removed {
                Err(error) if is_of_entity(&error) => {
                    tracing::warn!(target: "table_runtime::sweep", table, %error, "an entity that has expired was left");
                    SweepOutcome::Left(self.entity.name.clone())
                }
                removed => removed?,
            });
        }
        Ok(removals)
    }

    /// Checks whether the entity still has the version that was read.
    async fn is_unchanged(&self, table: &str, found: &FoundEntity) -> Result<bool> {
        let RowKeys { partition_key, row_key } = &found.encoded.primary.keys;
        let row = self.client().get(table, partition_key, row_key, Some(&[])).await?;
        Ok(row.is_some_and(|row| row.etag == found.row.etag))
    }

    /// Returns an index for which the entity's keys cannot be computed.
    fn unknown_index(&self, table: &str, row: &Row) -> Option<&LayoutInfo> {
        let identified = self.rows.inventory.identify(table, row.as_ref())?;
        let mut indexes = self
            .entity
            .layouts
            .iter()
            .filter(|index| index.index.is_some() && STATES.contains(&self.entity.state(&index.name)));
        let is_known = self.entity.knows_rows_of(row.as_ref());
        indexes.find(|index| !is_known || expected::keys(index, row.as_ref(), &identified).is_none())
    }

    /// Removes an entity in the version that was read, in the order of [`Tables::delete`]: it reads the versions of its index
    /// rows, deletes the entity with those of its partition, and then the others.
    async fn remove_one(&self, table: &str, found: &FoundEntity) -> Result<SweepOutcome> {
        if let Some(index) = self.unknown_index(table, &found.row) {
            return Ok(SweepOutcome::Left(index_name(&self.entity, index)));
        }
        let (client, own) = (self.client(), &found.encoded.primary.keys);
        let slice = self.entity.primary().map_or("", |primary| &table[primary.table.len()..]);
        let mut operations = vec![delete(&own.row_key, found.row.etag.clone())];
        let mut released = Vec::new();
        for row in &found.encoded.index_rows {
            let Some((_, index)) = self.rows.layout_at(row.layout) else { continue };
            if index.is_list() {
                operations.extend(operations_without(client, table, &row.keys, own).await?);
                continue;
            }
            // The slices of an index are those of its entity.
            let index_table = match (index.is_same_partition(), index.is_sliced()) {
                (true, _) => table.to_owned(),
                (_, true) => format!("{}{slice}", index.table),
                (_, false) => index.table.to_string(),
            };
            let Some(version) = self.version(&index_table, row.layout, &row.keys, own).await? else { continue };
            let deletion = delete(&row.keys.row_key, version);
            if index.is_same_partition() {
                operations.push(deletion);
            } else {
                let (table, partition_key) = (index_table.into(), row.keys.partition_key.clone());
                released.push(Group { table, partition_key, operations: vec![deletion] });
            }
        }
        let group = Group { table: table.to_owned().into(), partition_key: own.partition_key.clone(), operations };
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
    async fn version(&self, table: &str, layout: usize, keys: &RowKeys, own: &RowKeys) -> Result<Option<ETag>> {
        let row = self.client().get(table, &keys.partition_key, &keys.row_key, None).await?;
        let is_own = |row: &Row| self.rows.owner(layout, row.as_ref()).is_ok_and(|owner| owner == *own);
        Ok(row.filter(is_own).map(|row| row.etag))
    }
}

fn pending(row: &Row) -> Option<table_store::Guid> {
    row.properties.get(PENDING).and_then(attempt)
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
