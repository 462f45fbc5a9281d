//! The rows that an index has before a backfill.
//!
//! A backfill writes the rows that are missing. It reads the rows of the index first and then the entities, and leaves
//! an entity alone whose row it has read. All programs that write meanwhile know the index, so they keep the row as
//! long as the entity has its value.
//!
//! A writer that began before may still be about to release a row, in the version that it read. A program without the
//! index may have given the entity its value back since, and has not written the row again. So each row that writers
//! release by its version gets a new version first, and the release fails.

use table_store::{
    ETag, Result,
    backend::{BoxFuture, Group, Operation},
    unstable::{RowKeys, limits},
};

use super::{
    compare::read_lists,
    hashes::{HashRange, Hashes},
    scan::{LayoutScan, ScanPosition, ScannedPage},
};
use crate::{
    client::pacing,
    model::row_hash::RowHasher,
    write::index::{FoundEntity, Write, WriteAnswer, fence},
};

/// The rows that an index has, in one range of hashes.
pub(super) struct PresentRows {
    layout: usize,
    hashes: Hashes,
    hasher: RowHasher,
}

/// A row that was read.
struct FencedRow {
    keys: RowKeys,
    etag: ETag,
    hash: u128,
}

impl PresentRows {
    /// Reads the rows of an index.
    ///
    /// `done` is the position in the entities before which an earlier job has written all rows. Their rows are left
    /// out.
    pub(super) async fn read(
        write: &Write,
        layout: usize,
        hashes: Hashes,
        done: Option<&ScanPosition>,
        dry_run: bool,
    ) -> Result<Self> {
        let mut present = Self { layout, hashes, hasher: RowHasher::default() };
        let is_released = write.schema.before_commit().any(|other| other == layout);
        let mut scan = LayoutScan::new(write.tables.backend().clone(), write.schema, "backfill", [layout]);
        while let Some(page) = scan.next().await? {
            let rows = present.rows(write, &page, done).await?;
            if is_released && !dry_run {
                present.fence(write, rows).await?;
            } else {
                for row in rows {
                    present.hashes.add(row.hash);
                }
            }
            pacing::yield_now().await;
        }
        present.hashes.sort();
        Ok(present)
    }

    /// Returns the rows of a page, once for each entity to which a row leads. Rows that cannot be read lead to none.
    async fn rows(&mut self, write: &Write, page: &ScannedPage, done: Option<&ScanPosition>) -> Result<Vec<FencedRow>> {
        let (schema, table) = (&write.schema, write.schema.table());
        let is_done = |entity: &RowKeys| {
            done.is_some_and(|position| position.is_after(0, table, &entity.partition_key, &entity.row_key))
        };
        let lists = read_lists(write, page).await?;
        let mut rows = Vec::with_capacity(page.rows.len());
        for (at, row) in page.rows.iter().enumerate() {
            let entities: Vec<_> = if let Some(members) = lists.get(at) {
                members.iter().flatten().map(|member| row.with_row_key(member)).collect()
            } else {
                schema.owner(page.layout, row).into_iter().collect()
            };
            for entity in entities.iter().filter(|entity| !is_done(entity)) {
                let hash = schema.hash_stored(&mut self.hasher, page.layout, row, entity);
                if self.hashes.covers(hash) {
                    rows.push(FencedRow { keys: row.keys(), etag: row.etag.clone(), hash });
                }
            }
        }
        Ok(rows)
    }

    /// Gives rows a new version, and adds those for which that was possible.
    async fn fence(&mut self, write: &Write, rows: Vec<FencedRow>) -> Result<()> {
        let table = write.schema.layouts[self.layout].table;
        let mut fences: Vec<BoxFuture<'_, _>> = Vec::new();
        let in_one_partition = |one: &FencedRow, other: &FencedRow| one.keys.partition_key == other.keys.partition_key;
        for rows in rows.chunk_by(in_one_partition).flat_map(|rows| rows.chunks(limits::OPERATIONS)) {
            fences.push(Box::pin(async move {
                let operation =
                    |row: &FencedRow| Operation { row_key: row.keys.row_key.clone(), action: fence(&row.etag) };
                let (partition_key, operations) =
                    (rows[0].keys.partition_key.clone(), rows.iter().map(operation).collect());
                let answer = write.send(&Group { table: table.into(), partition_key, operations }).await?;
                Ok(if matches!(answer, WriteAnswer::Done(_)) { rows } else { &[] })
            }));
        }
        for row in pacing::concurrently(fences).await?.into_iter().flatten() {
            self.hashes.add(row.hash);
        }
        Ok(())
    }

    /// Checks whether the entity should have rows that this pass has to write.
    pub(super) fn lacks(&mut self, write: &Write, found: &FoundEntity) -> bool {
        let entity = &found.encoded.primary.keys;
        let mut lacks = false;
        for row in found.encoded.rows_in(self.layout) {
            let hash = write.schema.hash_expected(&mut self.hasher, row, entity);
            lacks |= self.hashes.covers(hash) && !self.hashes.mark(hash);
        }
        lacks
    }

    /// Returns the range of hashes of this pass.
    pub(super) const fn range(&self) -> HashRange {
        self.hashes.range()
    }

    /// Returns the number of passes that are left, as far as it is known.
    pub(super) fn passes_left(&self) -> usize {
        self.hashes.passes_left()
    }

    /// Checks whether there were rows that no entity was found to have.
    pub(super) fn has_stale(&self) -> bool {
        self.hashes.unmarked() > 0
    }

    /// Returns the range of the next pass; `None` if there is none.
    pub(super) fn next_range(&self) -> Option<HashRange> {
        self.hashes.next_range()
    }
}
