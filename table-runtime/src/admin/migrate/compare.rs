//! The two places of a migration, as a comparison has them: the rows of the new place are those that the entities of the old
//! one should have.

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use table_model::{Holds, unstable::entity};
use table_store::{
    Result, Row, RowId, RowRef, ValueRef,
    backend::BoxFuture,
    unstable::{RowKeys, client::Client},
};

use super::copy::Copier;
use crate::{
    admin::{
        jobs::{Described, Phase, RowPlace},
        scan::{Section, sections},
    },
    write::{
        RowHasher,
        index::{Encoded, EncodedRow, FoundEntity},
    },
};

/// The entities of the old place, and their rows in the new one.
pub(super) struct Moved<'c> {
    copier: &'c Copier<'c>,
    has_pending: AtomicBool,
}

impl<'c> Moved<'c> {
    pub(super) const fn new(copier: &'c Copier<'c>) -> Self {
        Self { copier, has_pending: AtomicBool::new(false) }
    }

    /// Checks whether the new place has pending inserts, of a run that was stopped.
    pub(super) fn has_pending(&self) -> bool {
        self.has_pending.load(Ordering::Relaxed)
    }
}

/// Returns the hash of a row of the new place. All rows with one key are in one pass, which is chosen by the leading half.
fn hash<'a>(
    hasher: &mut RowHasher,
    (partition_key, row_key): (&str, &str),
    properties: impl Iterator<Item = (&'a str, ValueRef<'a>)>,
) -> u128 {
    const HALF: u32 = u64::BITS;
    let keys = hasher.text(partition_key).text(row_key).finish();
    let contents = hasher.properties(properties).finish();
    (keys >> HALF << HALF) | (contents >> HALF)
}

impl Described for Moved<'_> {
    fn client(&self) -> &Arc<Client> {
        self.copier.switch.migration.tables.backend()
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn has_lists(&self) -> bool {
        false
    }

    fn sections(&self, phase: Phase) -> BoxFuture<'_, Result<Vec<Section>>> {
        let migration = self.copier.switch.migration;
        let place = if phase == Phase::IndexRows { migration.new } else { migration.old };
        Box::pin(sections(self.client(), place.layouts, [0]))
    }

    fn read(&self, table: &str, row: Row) -> Result<Option<FoundEntity>> {
        let encoded = self.copier.convert(table, row.as_ref())?;
        Ok(encoded.map(|encoded| FoundEntity { row, encoded, unknown: None, pending: None }))
    }

    fn expected<'e>(&self, encoded: &'e Encoded) -> &'e [EncodedRow] {
        slice::from_ref(&encoded.primary)
    }

    fn layout(&self, section: usize, table: &str, row: RowRef<'_>) -> Result<Option<usize>> {
        if !self.copier.switch.new_rows.has(row) {
            return Ok(None);
        }
        // A pending insert is one of a run that was stopped. The entity counts as missing.
        if entity::is_pending(table, row)? {
            self.has_pending.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        Ok(Some(section))
    }

    fn owner(&self, _layout: usize, row: RowRef<'_>) -> Result<RowKeys> {
        Ok(row.keys())
    }

    fn hash_expected(&self, hasher: &mut RowHasher, row: &EncodedRow, _entity: &RowKeys) -> u128 {
        let RowKeys { partition_key, row_key } = &row.keys;
        hash(hasher, (partition_key, row_key), row.properties.iter())
    }

    fn hash_stored(&self, hasher: &mut RowHasher, _layout: usize, row: RowRef<'_>, _owner: &RowKeys) -> u128 {
        hash(hasher, (row.partition_key, row.row_key), row.properties)
    }

    fn entity<'k>(&'k self, _layout: usize, _keys: &'k RowKeys) -> BoxFuture<'k, Result<Option<FoundEntity>>> {
        // No row is examined: each difference is removed, or written again.
        Box::pin(async { Ok(None) })
    }

    fn place(&self, _layout: usize) -> RowPlace {
        let table = self.copier.switch.migration.new.table().into();
        RowPlace { index: None, table, holds: Holds::Pointer, is_same_partition: false }
    }

    fn entity_id(&self, _layout: usize, keys: &RowKeys) -> RowId {
        RowId::of(self.copier.switch.migration.old.table(), keys)
    }
}
