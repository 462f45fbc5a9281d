//! A scan of all rows of an entity, layout after layout.

use std::{borrow::Cow, cmp::Ordering, collections::VecDeque, ops::Bound, sync::Arc};

use serde::{Deserialize, Serialize};
use table_store::{
    Condition, ETag, Error, Result, RowSet,
    backend::{KeyRange, Partitions, Scan},
    error::ParseCursorError,
    unstable::{ScanProgress, client::Client, limits, order},
};

use crate::{
    model::layout::LayoutInfo,
    read::{
        cursor::{hash_job, seal, unseal},
        existing_slices,
    },
    write::index::Schema,
};

/// A scan of all rows of some layouts, page by page.
pub struct LayoutScan {
    backend: Arc<Client>,
    schema: Schema,
    /// The hash that binds cursors to this job and to the layouts.
    job_hash: u64,
    /// The remaining layouts. The first one is in progress.
    layouts: VecDeque<usize>,
    page: u32,
    /// The part of the layout that is read; `None` for all of its rows.
    narrowed: Option<Narrowed>,
    /// The remaining scans of that layout; `None` before its tables are known.
    scans: Option<VecDeque<Scan>>,
    /// The position in the first of them.
    progress: ScanProgress,
    /// The position after which the first layout continues.
    resumed: Option<ScanPosition>,
    /// The last row that was returned.
    last: Option<ScanPosition>,
    has_conflicts: bool,
    /// The version of the catalog's record to which the job is bound, if it is.
    version: Option<String>,
}

/// A part of the rows of one layout.
pub struct Narrowed {
    /// The partitions, in the order of their keys.
    pub partitions: Vec<Partitions>,
    pub rows: KeyRange,
    pub filter: Option<Condition>,
}

/// The position after which a scan continues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ScanPosition {
    job_hash: u64,
    layout: usize,
    /// The table; of a sliced entity, the slice.
    table: String,
    partition_key: String,
    row_key: String,
    /// Whether the job left a conflict before this position.
    has_conflicts: bool,
    /// The version of the catalog's record to which the job is bound, if it is.
    version: Option<String>,
}

impl ScanPosition {
    /// Checks whether the scan returned the row with these keys at the position or before it.
    pub(super) fn is_after(&self, layout: usize, table: &str, partition_key: &str, row_key: &str) -> bool {
        (layout, table)
            .cmp(&(self.layout, &self.table))
            .then_with(|| order::compare(partition_key, &self.partition_key))
            .then_with(|| order::compare(row_key, &self.row_key))
            .is_le()
    }
}

/// A page of rows of one layout.
pub struct ScannedPage {
    pub layout: usize,
    /// The table; of a sliced entity, the slice.
    pub table: Cow<'static, str>,
    pub rows: RowSet,
}

impl LayoutScan {
    /// Returns a scan of these layouts. Its cursors belong to `job`, such as `repair`, and to the entity's layouts as
    /// they are now: after an index is added or changed, a cursor from before would skip rows.
    pub fn new(backend: Arc<Client>, schema: Schema, job: &str, layouts: impl IntoIterator<Item = usize>) -> Self {
        Self {
            backend,
            schema,
            job_hash: hash_job(job, schema.layouts),
            layouts: layouts.into_iter().collect(),
            page: limits::PAGE,
            narrowed: None,
            scans: None,
            progress: ScanProgress::default(),
            resumed: None,
            last: None,
            has_conflicts: false,
            version: None,
        }
    }

    /// Sets the maximum number of rows of a page.
    pub fn with_page(mut self, rows: u32) -> Self {
        self.page = rows;
        self
    }

    /// Limits the scan to a part of its rows. It has one layout.
    pub fn narrowed(mut self, narrowed: Option<Narrowed>) -> Self {
        self.narrowed = narrowed;
        self
    }

    /// Continues after the rows that were returned before this cursor.
    pub fn resume(&mut self, cursor: &str) -> Result<(), ParseCursorError> {
        let position = unseal(cursor)?;
        self.check(&position)?;
        self.resume_at(position);
        Ok(())
    }

    /// Checks whether a position, which comes from outside of the program, is one of this scan.
    pub(super) fn check(&self, position: &ScanPosition) -> Result<(), ParseCursorError> {
        if position.job_hash != self.job_hash || !self.layouts.contains(&position.layout) {
            return Err(ParseCursorError::OtherQuery);
        }
        // It never leads out of its layout.
        let layout = &self.schema.layouts[position.layout];
        let is_table = match &layout.slice {
            Some(slice) => slice.named(layout.table, &position.table).is_some(),
            None => position.table == layout.table,
        };
        if !is_table || !contains(&all_rows(layout, layout.table.into()), position) {
            return Err(ParseCursorError::OtherQuery);
        }
        Ok(())
    }

    /// Continues after the rows that were returned before a position that was checked.
    pub(super) fn resume_at(&mut self, position: ScanPosition) {
        while self.layouts.front().is_some_and(|layout| *layout != position.layout) {
            self.layouts.pop_front();
        }
        self.has_conflicts = position.has_conflicts;
        self.last = Some(position.clone());
        self.resumed = Some(position);
    }

    /// Returns the position of the last row that was returned; `None` before the first row.
    pub(super) fn position(&self) -> Option<ScanPosition> {
        Some(ScanPosition { has_conflicts: self.has_conflicts, ..self.last.clone()? })
    }

    /// Binds the job and its cursors to the version of a record of the catalog.
    ///
    /// # Errors
    /// Returns an error if the job continues one that was bound to another version.
    pub fn bind(&mut self, version: &ETag) -> Result<(), ParseCursorError> {
        let version = version.to_string();
        if self.last.as_ref().is_some_and(|last| last.version.as_ref() != Some(&version)) {
            return Err(ParseCursorError::OtherQuery);
        }
        self.version = Some(version);
        Ok(())
    }

    /// Records that the job left a conflict.
    pub fn note_conflict(&mut self) {
        self.has_conflicts = true;
    }

    /// Checks whether this job, or the one that it continues, left a conflict.
    pub fn has_conflicts(&self) -> bool {
        self.has_conflicts
    }

    /// Returns the cursor after the rows that were returned; `None` before the first row.
    pub fn cursor(&self) -> Option<String> {
        seal(&self.position()?)
    }

    /// Returns the scans of a layout: one for each table. The table of the resumed position has one for the rest of the
    /// row's partition and one for the partitions after it, because an `or` would be a table scan.
    async fn open(&mut self, layout: usize) -> Result<VecDeque<Scan>> {
        let info = &self.schema.layouts[layout];
        let mut tables: VecDeque<Cow<'static, str>> = match &info.slice {
            Some(slice) => {
                let slices = existing_slices(slice, &self.backend, info.table).await?;
                slices.into_iter().map(|slice| slice.table.into()).collect()
            }
            None => VecDeque::from([info.table.into()]),
        };
        let of_table = |table: Cow<'static, str>| -> Vec<Scan> {
            let all = Scan { page: self.page, ..all_rows(info, table) };
            let Some(Narrowed { partitions, rows, filter }) = &self.narrowed else { return vec![all] };
            let scan = |partitions: &Partitions| {
                let (partitions, rows, filter) = (partitions.clone(), rows.clone(), filter.clone());
                Scan { partitions, rows, filter, ..all.clone() }
            };
            partitions.iter().map(scan).collect()
        };
        let mut scans = VecDeque::new();
        if let Some(position) = self.resumed.take() {
            // The names of slices are in the order of time.
            while tables.front().is_some_and(|table| **table < *position.table) {
                tables.pop_front();
            }
            if tables.front().is_some_and(|table| **table == *position.table) {
                tables.pop_front();
                for scan in of_table(position.table.into()) {
                    scans.extend(after(scan, &position.partition_key, &position.row_key));
                }
            }
        }
        scans.extend(tables.into_iter().flat_map(of_table));
        Ok(scans)
    }

    /// Returns the next page that has rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ScannedPage>> {
        while let Some(layout) = self.layouts.front().copied() {
            if self.scans.is_none() {
                self.scans = Some(self.open(layout).await?);
            }
            let Some(scan) = self.scans.as_ref().and_then(VecDeque::front) else {
                self.layouts.pop_front();
                self.scans = None;
                continue;
            };
            let is_slice = self.schema.layouts[layout].slice.is_some();
            let table = scan.table.clone();
            let rows = match self.backend.next_page(scan, &mut self.progress).await {
                // The slice was dropped meanwhile.
                Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if is_slice => {
                    self.progress.end();
                    RowSet::default()
                }
                rows => rows?,
            };
            if let (true, Some(scans)) = (self.progress.has_ended(), &mut self.scans) {
                scans.pop_front();
                self.progress = ScanProgress::default();
            }
            if let Some(row) = rows.last() {
                let (partition_key, row_key) = (row.partition_key.to_owned(), row.row_key.to_owned());
                let (job_hash, has_conflicts) = (self.job_hash, self.has_conflicts);
                let (table_name, version) = (table.to_string(), self.version.clone());
                self.last = Some(ScanPosition {
                    job_hash,
                    layout,
                    table: table_name,
                    partition_key,
                    row_key,
                    has_conflicts,
                    version,
                });
                return Ok(Some(ScannedPage { layout, table, rows }));
            }
        }
        Ok(None)
    }
}

/// Returns what is left of a scan after a row, in the order of the keys.
fn after(scan: Scan, partition_key: &str, row_key: &str) -> Vec<Scan> {
    let rest_of_partition = |scan: &Scan| {
        let mut rest = Scan { partitions: Partitions::One(partition_key.to_owned()), ..scan.clone() };
        rest.rows.from = Bound::Excluded(row_key.to_owned());
        rest
    };
    match &scan.partitions {
        Partitions::One(own) => match order::compare(own, partition_key) {
            Ordering::Less => Vec::new(),
            Ordering::Equal => vec![rest_of_partition(&scan)],
            Ordering::Greater => vec![scan],
        },
        Partitions::Range(range) => {
            let partitions = KeyRange { from: Bound::Excluded(partition_key.to_owned()), to: range.to.clone() };
            vec![rest_of_partition(&scan), Scan { partitions: Partitions::Range(partitions), ..scan }]
        }
    }
}

/// Checks whether a position is located in a scan.
fn contains(scan: &Scan, position: &ScanPosition) -> bool {
    let is_before = matches!(&scan.rows.from, Bound::Included(from) if order::compare(&position.row_key, from).is_lt());
    !is_before && !matches!(&scan.partitions, Partitions::One(own) if *own != position.partition_key)
}

/// Returns a scan of every row of a layout: all partitions of its table, and the row keys with its prefix.
pub fn all_rows(layout: &LayoutInfo, table: Cow<'static, str>) -> Scan {
    let rows = if layout.row.is_empty() {
        let key = Bound::Included(layout.row_prefix.to_owned());
        KeyRange { from: key.clone(), to: key }
    } else {
        order::prefixed(layout.row_prefix)
    };
    let partitions = match layout.partition {
        [] => Partitions::One(layout.partition_prefix.to_owned()),
        _ => Partitions::ALL,
    };
    Scan { partitions, rows, ..Scan::all(table) }
}
