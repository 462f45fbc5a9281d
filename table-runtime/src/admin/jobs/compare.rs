//! Comparison of an entity's rows with those of its indexes, by hashes.
//!
//! A pass reads the entities and collects a hash of each row that they should have in an index. It then reads the index
//! rows. A row whose hash was collected is right. Any other is a *suspect*, which is examined by reads of its own. If
//! hashes are left whose rows were not found, a third scan finds their entities, which are suspects too.
//!
//! If the hashes do not fit into the memory, a pass compares one range of the hashes and leaves the rest to the next.
//!
//! A wrong row that does not change meanwhile is always a suspect. Its entity, which does not change either, is read by
//! the first scan, and expects no row with this hash; a row that is missing is not read by the second. A hash names the
//! index, the row, its entity and its content, so no other row can be found in its place. Changes meanwhile make
//! suspects of healthy rows, which is why each is examined.

use std::{borrow::Cow, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};
use table_store::{
    ETag, Result, Row, RowRef,
    backend::BoxFuture,
    error::ParseCursorError,
    unstable::{RowKeys, client::Client},
};

use super::{
    hashes::{HashRange, Hashes},
    scan::{LayoutScan, ScanPosition, ScannedPage},
};
use crate::{
    client::pacing,
    model::{codec::is_unreadable, layout::Holds, row_hash::RowHasher},
    read::cursor::{seal, unseal},
    write::index::{Encoded, EncodedRow, FoundEntity, Schema, Write},
};

/// A comparison in progress, page by page.
pub(super) struct IndexComparison {
    backend: Arc<Client>,
    schema: Schema,
    /// The indexes whose rows are compared.
    indexes: Range<usize>,
    job: &'static str,
    memory: usize,
    /// Number of the pass, from 1.
    pass: usize,
    phase: Phase,
    scan: LayoutScan,
    hashes: Hashes,
    hasher: RowHasher,
    /// The position before which an earlier job has examined all rows of this pass.
    resumed: Option<(Phase, ScanPosition)>,
    cursor: Option<String>,
}

/// The scans of a pass, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Phase {
    /// All entities: the rows that they should have.
    Entities,
    /// All index rows.
    IndexRows,
    /// Entities again, until all of those are found whose rows are missing.
    Missing,
}

/// The content of a cursor.
#[derive(Serialize, Deserialize)]
struct ComparedUntil {
    pass: usize,
    range: HashRange,
    phase: Phase,
    position: ScanPosition,
}

/// The suspects of a page.
pub(super) struct ComparedPage {
    pub(super) layout: usize,
    pub(super) table: Cow<'static, str>,
    /// Number of rows that were read for the first time.
    pub(super) rows: usize,
    pub(super) suspects: Vec<Suspect>,
}

/// A row that may be wrong.
pub(super) enum Suspect {
    /// A row that cannot be read, or belongs to another entity or index.
    Foreign { keys: RowKeys, problem: String },
    /// An entity whose insert is not committed, in the version that was read.
    Pending { keys: RowKeys, etag: ETag },
    /// An entity whose rows in these indexes are missing or differ.
    Entity { found: FoundEntity, layouts: Vec<usize> },
    /// A row of an index that no entity was found to have.
    IndexRow(Row),
    /// A list, and the entities in it that were not found to have its value.
    List { keys: RowKeys, members: Vec<RowKeys> },
}

impl IndexComparison {
    /// Returns a comparison whose cursors belong to `job`.
    pub(super) fn new(backend: Arc<Client>, schema: Schema, job: &'static str, memory: usize) -> Self {
        let indexes = 1..schema.layouts.len();
        Self {
            scan: scan(&backend, schema, job, Phase::Entities, &indexes),
            backend,
            schema,
            indexes,
            job,
            memory,
            pass: 1,
            phase: Phase::Entities,
            hashes: Hashes::new(HashRange::ALL, memory),
            hasher: RowHasher::default(),
            resumed: None,
            cursor: None,
        }
    }

    /// Compares the rows of this index alone.
    pub(super) fn of_index(mut self, layout: usize) -> Self {
        self.indexes = layout..layout + 1;
        self
    }

    /// Sets the number of bytes for hashes.
    pub(super) fn set_memory(&mut self, bytes: usize) {
        self.memory = bytes;
        self.hashes = Hashes::new(self.hashes.range(), bytes);
    }

    /// Continues after the rows that were examined before this cursor. The rows of the pass before it are read again,
    /// to collect and to compare their hashes, and are not examined.
    pub(super) fn resume(&mut self, cursor: &str) -> Result<(), ParseCursorError> {
        let ComparedUntil { pass, range, phase, position } = unseal(cursor)?;
        scan(&self.backend, self.schema, self.job, phase, &self.indexes).check(&position)?;
        // A cursor comes from outside of the program.
        if pass == 0 || !range.is_valid() {
            return Err(ParseCursorError::OtherQuery);
        }
        (self.pass, self.phase, self.cursor) = (pass, Phase::Entities, Some(cursor.to_owned()));
        self.hashes = Hashes::new(range, self.memory);
        self.scan = scan(&self.backend, self.schema, self.job, self.phase, &self.indexes);
        if self.schema.has_indexes() {
            self.resumed = Some((phase, position));
        } else {
            // There is nothing to compare.
            self.scan.resume_at(position);
        }
        Ok(())
    }

    /// Returns the cursor after the last row that was examined; `None` before the first page.
    pub(super) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Returns the number of the pass, and the number of passes as far as it is known.
    pub(super) fn passes(&self) -> (usize, usize) {
        (self.pass, self.pass + self.hashes.passes_left())
    }

    /// Returns the next page; `None` at the end.
    pub(super) async fn next(&mut self, write: &Write) -> Result<Option<ComparedPage>> {
        loop {
            let is_complete = self.phase == Phase::Missing && self.hashes.unmarked() == 0;
            let page = if is_complete { None } else { self.scan.next().await? };
            match page {
                Some(page) => return self.compare(write, &page).await.map(Some),
                None if self.begin_next_phase() => {}
                None => return Ok(None),
            }
        }
    }

    /// Begins the scan after the one that has ended. Returns false if there is none.
    fn begin_next_phase(&mut self) -> bool {
        self.phase = match self.phase {
            Phase::Entities if !self.schema.has_indexes() => return false,
            Phase::Entities => {
                self.hashes.sort();
                Phase::IndexRows
            }
            Phase::IndexRows => {
                self.hashes.keep_unmarked();
                Phase::Missing
            }
            Phase::Missing => {
                let Some(range) = self.hashes.next_range() else { return false };
                self.hashes = Hashes::new(range, self.memory);
                self.pass += 1;
                self.resumed = None;
                Phase::Entities
            }
        };
        self.scan = scan(&self.backend, self.schema, self.job, self.phase, &self.indexes);
        // The third scan collects nothing, so it can begin in the middle.
        if self.phase == Phase::Missing
            && let Some((Phase::Missing, position)) = self.resumed.take()
        {
            self.scan.resume_at(position);
        }
        true
    }

    async fn compare(&mut self, write: &Write, page: &ScannedPage) -> Result<ComparedPage> {
        let lists = read_lists(write, page).await?;
        let mut suspects = Vec::new();
        let mut examined = 0;
        for (at, row) in page.rows.iter().enumerate() {
            let is_examined = self.is_examined(page, row);
            examined += usize::from(is_examined);
            let suspect = match (self.phase, lists.get(at)) {
                (Phase::Entities, _) => self.collect(row).filter(|_| self.pass == 1),
                (Phase::IndexRows, Some(members)) => self.compare_list(page.layout, row, members),
                (Phase::IndexRows, None) => self.compare_row(page.layout, row),
                (Phase::Missing, _) => self.find_missing(row),
            };
            suspects.extend(suspect.filter(|_| !is_examined));
        }
        if examined < page.rows.len()
            && let Some(position) = self.scan.position()
        {
            let (pass, range, phase) = (self.pass, self.hashes.range(), self.phase);
            self.cursor = seal(&ComparedUntil { pass, range, phase, position });
        }
        let is_first = self.pass == 1 && self.phase != Phase::Missing;
        let rows = if is_first { page.rows.len() - examined } else { 0 };
        Ok(ComparedPage { layout: page.layout, table: page.table.clone(), rows, suspects })
    }

    /// Checks whether the job that this one continues has examined a row.
    fn is_examined(&self, page: &ScannedPage, row: RowRef<'_>) -> bool {
        self.resumed.as_ref().is_some_and(|(phase, position)| {
            self.phase < *phase
                || self.phase == *phase && position.is_after(page.layout, &page.table, row.partition_key, row.row_key)
        })
    }

    /// Collects the hashes of the rows that an entity should have.
    fn collect(&mut self, row: RowRef<'_>) -> Option<Suspect> {
        match self.schema.read(row.to_row()) {
            Ok(None) => None,
            Err(problem) => Some(Suspect::Foreign { keys: row.keys(), problem: problem.to_string() }),
            Ok(Some(found)) if found.pending.is_some() => {
                Some(Suspect::Pending { keys: row.keys(), etag: found.row.etag })
            }
            Ok(Some(found)) => {
                for row in self.expected_rows(&found.encoded) {
                    let hash = self.hash_expected(row, &found.encoded);
                    self.hashes.add(hash);
                }
                None
            }
        }
    }

    /// Returns the rows that an entity should have in the indexes that are compared.
    fn expected_rows<'e>(&self, encoded: &'e Encoded) -> impl Iterator<Item = &'e EncodedRow> + use<'e> {
        let indexes = self.indexes.clone();
        encoded.index_rows.iter().filter(move |row| indexes.contains(&row.layout))
    }

    fn hash_expected(&mut self, row: &EncodedRow, encoded: &Encoded) -> u128 {
        self.schema.hash_expected(&mut self.hasher, row, &encoded.primary.keys)
    }

    fn compare_row(&mut self, layout: usize, row: RowRef<'_>) -> Option<Suspect> {
        let owner = match self.schema.owner(layout, row) {
            Ok(owner) => owner,
            Err(problem) => return self.foreign(layout, row, problem.to_string()),
        };
        let hash = self.schema.hash_stored(&mut self.hasher, layout, row, &owner);
        (self.hashes.covers(hash) && !self.hashes.mark(hash)).then(|| Suspect::IndexRow(row.to_row()))
    }

    fn compare_list(
        &mut self,
        layout: usize,
        row: RowRef<'_>,
        members: &Result<Vec<String>, String>,
    ) -> Option<Suspect> {
        let members = match members {
            Ok(members) => members,
            Err(problem) => return self.foreign(layout, row, problem.clone()),
        };
        let mut wrong = Vec::new();
        for member in members {
            let entity = row.with_row_key(member);
            let hash = self.schema.hash_stored(&mut self.hasher, layout, row, &entity);
            if self.hashes.covers(hash) && !self.hashes.mark(hash) {
                wrong.push(entity);
            }
        }
        (!wrong.is_empty()).then(|| Suspect::List { keys: row.keys(), members: wrong })
    }

    /// Returns a row that leads to no entity, in the one pass whose range has the hash of its keys.
    fn foreign(&mut self, layout: usize, row: RowRef<'_>, problem: String) -> Option<Suspect> {
        let hash = self.hasher.number(layout).text(row.partition_key).text(row.row_key).finish();
        self.hashes.covers(hash).then(|| Suspect::Foreign { keys: row.keys(), problem })
    }

    /// Returns the entity if rows that it should have are among those that were not found.
    fn find_missing(&mut self, row: RowRef<'_>) -> Option<Suspect> {
        // The first scan reported rows that cannot be read, and pending inserts.
        let found = self.schema.read(row.to_row()).ok().flatten().filter(|found| found.pending.is_none())?;
        let mut layouts = Vec::new();
        for row in self.expected_rows(&found.encoded) {
            let hash = self.hash_expected(row, &found.encoded);
            if self.hashes.mark(hash) {
                layouts.push(row.layout);
            }
        }
        layouts.dedup();
        (!layouts.is_empty()).then_some(Suspect::Entity { found, layouts })
    }
}

/// Returns the members of each list of a page, or the error if they cannot be read. Reads the further rows of lists
/// that have several. Returns nothing for the rows of other layouts.
pub(super) async fn read_lists(write: &Write, page: &ScannedPage) -> Result<Vec<Result<Vec<String>, String>>> {
    if write.schema.holds(page.layout) != Holds::List {
        return Ok(Vec::new());
    }
    let mut reads: Vec<BoxFuture<'_, _>> = Vec::with_capacity(page.rows.len());
    for row in page.rows.iter() {
        reads.push(Box::pin(async move {
            match write.list_members_from(row).await {
                Err(problem) if is_unreadable(&problem) => Ok(Err(problem.to_string())),
                members => members.map(Ok),
            }
        }));
    }
    pacing::concurrently(reads).await
}

/// Returns the scan of a phase.
fn scan(backend: &Arc<Client>, schema: Schema, job: &str, phase: Phase, indexes: &Range<usize>) -> LayoutScan {
    let layouts = match phase {
        Phase::Entities | Phase::Missing => 0..1,
        Phase::IndexRows => indexes.clone(),
    };
    LayoutScan::new(backend.clone(), schema, job, layouts)
}
