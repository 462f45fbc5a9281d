//! The rows that an index has before a backfill.
//!
//! A backfill writes the rows that are missing. It reads the rows of the index first and then the entities, and leaves
//! an entity alone whose row it has read. All programs that write meanwhile know the index, so they keep the row as
//! long as the entity has its value.
//!
//! A writer that began before may still be about to release a row, in the version that it read. A program without the
//! index may have given the entity its value back since, and has not written the row again. So each row that writers
//! release by its version gets a new version first, and the release fails.

use std::{ops::ControlFlow, sync::Mutex};

use table_store::{
    ETag, Result,
    backend::{BoxFuture, Group, Operation},
    unstable::{RowKeys, limits},
};

use super::{
    compare::read_lists,
    described::Typed,
    hashes::{HashRange, Hashes},
};
use crate::{
    admin::scan::{RowRange, ScannedPage, SideBySide, includes, sections},
    client::{pacing, tables::lock},
    write::{
        RowHasher,
        index::{FoundEntity, Write, WriteAnswer, fence},
    },
};

/// The rows that an index has, in one range of hashes.
pub(super) struct PresentRows {
    layout: usize,
    hashes: Mutex<Hashes>,
}

/// A row that was read.
struct FencedRow {
    keys: RowKeys,
    etag: ETag,
    hash: u128,
}

impl PresentRows {
    /// Reads the rows of an index, so many pages at the same time.
    ///
    /// `left` are the entities of which an earlier job has not written all rows. The rows of others are left out.
    pub(super) async fn read(
        of: &Typed,
        layout: usize,
        hashes: Hashes,
        left: Option<&[RowRange]>,
        (dry_run, pages): (bool, usize),
    ) -> Result<Self> {
        let write = &*of.write;
        let present = Self { layout, hashes: Mutex::new(hashes) };
        let is_fenced = !dry_run && write.schema.before_commit().any(|other| other == layout);
        let client = write.tables.backend();
        let sections = sections(client, write.schema.layouts, [layout]).await?;
        let work = |page: ScannedPage| -> BoxFuture<'_, _> {
            let present = &present;
            Box::pin(async move {
                let rows = present.rows(of, &page, left).await?;
                if is_fenced {
                    return present.fence(write, rows).await;
                }
                Ok(rows.iter().map(|row| row.hash).collect())
            })
        };
        let done = |_: &SideBySide, hashes: Vec<u128>| {
            for hash in hashes {
                lock(&present.hashes).add(hash);
            }
            ControlFlow::Continue(())
        };
        SideBySide::new(client.clone(), sections, pages).each(&work, done).await?;
        lock(&present.hashes).sort();
        Ok(present)
    }

    /// Returns the rows of a page, once for each entity to which a row leads. Rows that cannot be read lead to none.
    async fn rows(&self, of: &Typed, page: &ScannedPage, left: Option<&[RowRange]>) -> Result<Vec<FencedRow>> {
        let write = &*of.write;
        let is_done = |entity: &RowKeys| {
            let table = write.table_of(entity).unwrap_or_else(|_| write.schema.table().into());
            let keys = (&*entity.partition_key, &*entity.row_key);
            left.is_some_and(|left| !includes(left, 0, &table, keys))
        };
        let mut lists = read_lists(of, page).await?.into_iter();
        let (mut rows, mut hasher) = (Vec::new(), RowHasher::default());
        for row in page.rows() {
            let entities: Vec<_> = match lists.next().flatten() {
                Some(members) => members.iter().flatten().map(|member| row.with_row_key(member)).collect(),
                None => write.schema.owner(page.layout, row).into_iter().collect(),
            };
            for entity in entities.iter().filter(|entity| !is_done(entity)) {
                let hash = write.schema.hash_stored(&mut hasher, page.layout, row, entity);
                if lock(&self.hashes).covers(hash) {
                    rows.push(FencedRow { keys: row.keys(), etag: row.etag.clone(), hash });
                }
            }
        }
        Ok(rows)
    }

    /// Gives rows a new version, and returns the hashes of those for which that was possible.
    async fn fence(&self, write: &Write, rows: Vec<FencedRow>) -> Result<Vec<u128>> {
        let table = &write.schema.layouts[self.layout].table;
        let mut fences: Vec<BoxFuture<'_, _>> = Vec::new();
        let in_one_partition = |one: &FencedRow, other: &FencedRow| one.keys.partition_key == other.keys.partition_key;
        for rows in rows.chunk_by(in_one_partition).flat_map(|rows| rows.chunks(limits::OPERATIONS)) {
            fences.push(Box::pin(async move {
                let operation =
                    |row: &FencedRow| Operation { row_key: row.keys.row_key.clone(), action: fence(&row.etag) };
                let (partition_key, operations) =
                    (rows[0].keys.partition_key.clone(), rows.iter().map(operation).collect());
                let answer = write.send(&Group { table: table.clone(), partition_key, operations }).await?;
                let is_done = matches!(answer, WriteAnswer::Done(_));
                Ok(rows.iter().filter(|_| is_done).map(|row| row.hash).collect::<Vec<_>>())
            }));
        }
        Ok(pacing::concurrently(fences).await?.concat())
    }

    /// Checks whether the entity should have rows that this pass has to write.
    pub(super) fn lacks(&self, write: &Write, hasher: &mut RowHasher, found: &FoundEntity) -> bool {
        let entity = &found.encoded.primary.keys;
        let (mut present, mut lacks) = (lock(&self.hashes), false);
        for row in found.encoded.rows_in(self.layout) {
            let hash = write.schema.hash_expected(hasher, row, entity);
            lacks |= present.covers(hash) && !present.mark(hash);
        }
        lacks
    }

    /// Returns the range of hashes of this pass.
    pub(super) fn range(&self) -> HashRange {
        lock(&self.hashes).range()
    }

    /// Returns the number of passes that are left, as far as it is known.
    pub(super) fn passes_left(&self) -> usize {
        lock(&self.hashes).passes_left()
    }

    /// Checks whether there were rows that no entity was found to have.
    pub(super) fn has_stale(&self) -> bool {
        lock(&self.hashes).unmarked() > 0
    }

    /// Returns the range of the next pass; `None` if there is none.
    pub(super) fn next_range(&self) -> Option<HashRange> {
        lock(&self.hashes).next_range()
    }
}
