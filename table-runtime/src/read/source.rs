//! Execution of a query, page by page.
//!
//! # One query
//!
//! `Employee::by_last_name("Sales").starts_with("Smi").take(10).all(&tables)`, over an index whose rows point to the entities:
//!
//! 1. The generated `by_last_name` begins a plan (`read/plan.rs`) with the encoded partition. The type of the query,
//!    `query/rows.rs`, lists the key parts that are still open.
//! 2. `starts_with` adds a range of row keys, and `take` a number. `explain` shows the plan.
//! 3. `all`, in `query/boxed.rs`, turns the plan into a [`Source`], which checks its scans, and in `ready.rs` that the index is ready.
//! 4. `stages.rs` asks the store for a page of 10 index rows.
//! 5. `lookups.rs` reads their entities, up to 16 at the same time, in the order of the index.
//! 6. `visible.rs` drops rows of another kind, and entities that a time hides. `found.rs` decodes the entity, and drops it if it is
//!    pending, or does not have the value of the index row.
//! 7. If fewer than 10 are left, the source reads the next page.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use table_model::{
    LayoutInfo,
    unstable::{codec::is_unreadable, layout::LayoutExt},
};
use table_store::{
    Result, RowRef,
    backend::Scan,
    unstable::{RowKeys, client::Client, observe},
};

use super::{
    cursor::{Cursor, Position},
    found::{FoundRow, OnUnreadable, Skipping, Visit},
    lookups::PointerReader,
    once::Once,
    plan::{Plan, ReachedPartitions},
    ready::ReadyIndex,
    slices::Slices,
    stages::{OnTableRow, PageDemand, Stages, after},
    visible::Visible,
};
use crate::client::tables::{LayoutId, Tables};

/// Rows and entities that a query finds, read as the caller asks for them.
pub struct Source {
    pub pages: RowPages,
    layout: usize,
    layout_info: &'static LayoutInfo,
    entities: Visible,
    /// True if the rows are the entities' own rows, not those of an index.
    is_primary: bool,
    /// True if rows may be read without parsing their keys. Then a row of another entity may cause no key error, and
    /// the shape of each key is checked first.
    is_keyless: bool,
    /// Work to do before the first row is read.
    start: Option<Start>,
    /// Reader of the entities, if the rows only point to them.
    lookups: Option<PointerReader>,
    /// The rule that returns an entity once, if the query can read several of its rows.
    once: Option<Once>,
}

/// A query before its first row.
struct Start {
    /// Scans, whose rows are merged.
    scans: Vec<Scan>,
    /// Position after which the query continues.
    resumed: Option<Position>,
    /// Index that has to be ready, if the query reads one.
    index: Option<(Tables, LayoutId)>,
    /// Tables, if the layout is sliced.
    slices: Option<Slices>,
    /// True if there is nothing to read.
    is_nothing: bool,
}

/// Rows of a query, page by page.
pub struct RowPages {
    backend: Arc<Client>,
    stages: Stages,
    /// The index, if the rows are those of one.
    index: Option<ReadyIndex>,
    /// Number of rows that this run may still return.
    pub remaining_in_run: usize,
    /// Number of rows that the query may still return in all its runs, if it has a limit.
    pub remaining_in_query: Option<usize>,
    /// True if a row was read and not returned, because it is not visible or not a match.
    skipped_any: bool,
    /// True if a row that was read is left for a next run.
    truncated: bool,
    is_sliced: bool,
}

impl RowPages {
    /// Calls `read` for the next rows; returns false at the end.
    async fn next(&mut self, read: OnTableRow<'_>) -> Result<bool> {
        let Self { remaining_in_run: rows, skipped_any, is_sliced, .. } = *self;
        let demand = PageDemand { rows, skipped_any, is_sliced };
        let Some(index) = &mut self.index else { return self.stages.next(&self.backend, demand, read).await };
        index.renew().await?;
        let is_read = self.stages.next(&self.backend, demand, read).await?;
        index.confirm().await?;
        Ok(is_read)
    }

    fn consume(&mut self, rows: usize) {
        observe::returned(rows);
        self.remaining_in_run -= rows;
        self.remaining_in_query = self.remaining_in_query.map(|remaining| remaining.saturating_sub(rows));
    }
}

impl Source {
    /// Returns the source of the rows that the plan finds in these partitions.
    pub fn new(plan: &Plan, tables: &Tables, reached: ReachedPartitions) -> Result<Self> {
        let scans = plan.checked_scans(reached)?;
        let indexed_entity = plan.indexed_entity();
        let read_by = indexed_entity.filter(|_| plan.is_lookup());
        let lookups = read_by.map(|indexed_entity| PointerReader::new(tables.clone(), indexed_entity, plan));
        let pages = RowPages {
            backend: tables.reader().clone(),
            stages: Stages::default(),
            index: None,
            remaining_in_run: plan.take.unwrap_or(usize::MAX),
            remaining_in_query: plan.take,
            skipped_any: false,
            truncated: false,
            is_sliced: plan.layout().slice.is_some(),
        };
        let slices = scans.first().and_then(|scan| Slices::new(plan, reached, &scan.rows));
        let index = indexed_entity.map(|indexed_entity| (tables.clone(), indexed_entity.id()));
        Ok(Self {
            pages,
            layout: plan.layout_number(),
            layout_info: plan.layout(),
            entities: plan.visible(),
            is_primary: plan.layout().index.is_none(),
            is_keyless: false,
            once: plan.repeats().then(|| Once::new(&scans)),
            start: Some(Start { scans, resumed: None, index, slices, is_nothing: plan.is_nothing() }),
            lookups,
        })
    }

    /// Calls `read` for all rows that are left, and `skip` with the errors of those that cannot be read.
    pub async fn read_all(
        mut self,
        read: impl FnMut(&FoundRow<'_>) -> Result<bool> + Send,
        mut skip: Option<OnUnreadable<'_>>,
    ) -> Result<()> {
        let mut visit = Skipping { read, skip: &mut skip };
        while self.next(&mut visit).await? {}
        Ok(())
    }

    /// Counts the matches. Reads only the properties that decide whether a row counts, unless the rows point to entities.
    pub async fn count(
        mut self,
        is_match: fn(&FoundRow<'_>) -> Result<bool>,
        skip: Option<OnUnreadable<'_>>,
    ) -> Result<usize> {
        // A row that holds the elements says whether its entity counts.
        if self.lookups.is_none() && self.once.is_none() {
            self.select(if self.is_primary {
                self.entities.properties_after_filter()
            } else {
                self.entities.properties_in(self.layout_info)
            });
        }
        let mut count = 0;
        let read = |found: &FoundRow<'_>| {
            let counts = is_match(found)?;
            count += usize::from(counts);
            Ok(counts)
        };
        self.read_all(read, skip).await?;
        Ok(count)
    }

    #[allow(clippy::needless_pass_by_value, reason = "the scans share it")]
    fn select(&mut self, select: Cow<'static, [&'static str]>) {
        if let Some(start) = &mut self.start {
            start.scans.iter_mut().for_each(|scan| scan.select = Some(select.clone()));
        }
    }

    /// Visits the rows of the next page, or the next entity. Returns false at the end, and once the visitor is done.
    pub async fn next(&mut self, visit: &mut dyn Visit) -> Result<bool> {
        self.begin().await?;
        if self.lookups.is_some() { self.next_entity(visit).await } else { self.next_rows(visit).await }
    }

    async fn begin(&mut self) -> Result<()> {
        let Some(Start { scans, resumed, index, slices, is_nothing }) = self.start.take() else { return Ok(()) };
        self.is_keyless = scans.first().is_some_and(|scan| scan.select.is_some());
        if let Some((tables, id)) = index {
            self.pages.index = Some(ReadyIndex::new(&tables, id).await?);
        }
        if is_nothing {
            return Ok(());
        }
        let rest = resumed.as_ref().map(|position| after(&scans, position));
        let stages = match slices {
            None => rest.unwrap_or_else(|| vec![scans]),
            Some(slices) => {
                let tables = slices.tables(&self.pages.backend).await?;
                let at = resumed.as_ref().and_then(|position| position.slice.as_deref());
                slices.stages(&tables, &scans, rest.as_deref().map(|rest| (rest, at)))
            }
        };
        for mut stage in stages {
            if self.lookups.is_none() && self.entities.hides() {
                self.add_times(&mut stage);
            }
            self.pages.stages.push(stage);
        }
        Ok(())
    }

    /// Adds to the filters what the service can say of the times that hide entities, if it accepts them in addition to what a
    /// cursor adds. They are no part of the hash of the query, because each page has its own moment. The rows are checked all
    /// the same.
    fn add_times(&self, scans: &mut [Scan]) {
        let now = self.pages.backend.earliest();
        for scan in scans {
            if let Some(narrowed) = self.entities.narrowed(scan, self.layout_info, now) {
                *scan = narrowed;
            }
        }
    }

    async fn next_rows(&mut self, visit: &mut dyn Visit) -> Result<bool> {
        let Self { pages, layout, entities, is_primary, is_keyless, once, layout_info, .. } = self;
        let client = Arc::clone(&pages.backend);
        let (layout, is_primary, is_keyless, hides) = (*layout, *is_primary, *is_keyless, entities.hides());
        let (is_sliced, is_copy) = (pages.is_sliced, layout_info.is_copy());
        while pages.remaining_in_run > 0 && !visit.is_done() {
            let (mut returned, limit, mut skipped_any, mut truncated) = (0, pages.remaining_in_run, false, false);
            let now = LazyLock::new(|| client.earliest());
            let mut read_row = |table: &str, row: RowRef<'_>| {
                if is_primary && entities.is_event(&row) {
                    skipped_any = true;
                    return Ok(());
                }
                let is_other = || is_primary && !entities.has_shape(&row);
                let found = FoundRow { layout, table, row: &row, pointer: None, once: once.as_ref() };
                let mut read = || {
                    if is_primary && !entities.is_visible_after_filter(&row)?
                        || is_copy && entities.is_skipped(&row)?
                        || is_keyless && is_other()
                        || hides && !entities.shows(&row, || *now)?
                    {
                        Ok(false)
                    } else if returned == limit {
                        // A store need not keep to the page size, and the query asks for more rows after it skipped some.
                        truncated |= found.is_committed()?;
                        Ok(true)
                    } else {
                        let is_match = visit.found(&found)?;
                        returned += usize::from(is_match);
                        Ok(is_match)
                    }
                };
                match read() {
                    Ok(is_match) => skipped_any |= !is_match,
                    // Most tables have rows of one entity, so the shape is checked only after an error. A row of another
                    // entity may have other keys and another version, and another value under the name of a time.
                    Err(error) if is_unreadable(&error) && is_other() => skipped_any = true,
                    // The next run begins with the row.
                    Err(error) if returned == limit && is_unreadable(&error) => truncated = true,
                    Err(error) if is_unreadable(&error) => {
                        skipped_any = true;
                        let mut position = Position::default();
                        found.position(is_sliced, &mut position);
                        visit.unreadable(error, position)?;
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            };
            if !pages.next(&mut read_row).await? {
                break;
            }
            pages.skipped_any |= skipped_any;
            pages.truncated |= truncated;
            pages.consume(returned);
            // An empty page with a continuation is legal.
            if returned > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn next_entity(&mut self, visit: &mut dyn Visit) -> Result<bool> {
        let Self { pages, lookups: Some(lookups), once, .. } = self else { return Ok(false) };
        while pages.remaining_in_run > 0 && !visit.is_done() {
            // At most as many entities as may still be returned: only entities that do not match are read needlessly.
            lookups.begin(pages.remaining_in_run).await?;
            match lookups.next(once.as_ref(), visit).await? {
                Some(true) => {
                    pages.consume(1);
                    return Ok(true);
                }
                Some(false) => pages.skipped_any = true,
                None => {
                    let push = &mut |_: &str, row: RowRef<'_>| {
                        lookups.push(row);
                        Ok(())
                    };
                    if !pages.next(push).await? {
                        break;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Counts the pointers in the rows of an index, without reading the entities.
    pub async fn count_pointers(mut self) -> Result<usize> {
        let is_list = self.lookups.as_ref().is_some_and(PointerReader::is_list);
        if !is_list {
            self.select(Cow::Borrowed(&[]));
        }
        self.begin().await?;
        let Self { mut pages, lookups: Some(mut lookups), .. } = self else { return Ok(0) };
        let limit = pages.remaining_in_run;
        let mut count = 0;
        while pages.remaining_in_run > 0 {
            let mut lists = Vec::new();
            let mut read_row = |_: &str, row: RowRef<'_>| {
                if is_list {
                    lists.push(row.to_row());
                } else {
                    count += 1;
                }
                Ok(())
            };
            if !pages.next(&mut read_row).await? {
                break;
            }
            for list in lists {
                count += lookups.count(list).await?;
            }
            pages.remaining_in_run = limit.saturating_sub(count);
        }
        let count = count.min(limit);
        observe::returned(count);
        Ok(count)
    }

    /// Checks whether the rows are stored in several tables.
    pub fn is_sliced(&self) -> bool {
        self.pages.is_sliced
    }

    /// Returns the hash that binds cursors to this query.
    pub fn query_hash(&self, layout: &LayoutInfo) -> u64 {
        let filter = self.lookups.as_ref().and_then(PointerReader::filter);
        let scans = self.start.as_ref().map_or([].as_slice(), |start| &start.scans);
        // The first hash partition alone is another query than all of them.
        let entities = format!("{}\n{} scans", self.entities.fingerprint(), scans.len());
        let hash = |scan| Cursor::hash_query(layout, scan, self.pages.remaining_in_query, filter, &entities);
        scans.first().map_or(0, hash)
    }

    /// Checks the query as it continues after a row.
    pub fn check_after(&self, position: &Position) -> Result<()> {
        let scans = self.start.as_ref().map(|start| after(&start.scans, position)).unwrap_or_default();
        scans.iter().flatten().try_for_each(Scan::check)
    }

    /// Continues after the row of a cursor.
    pub fn resume(&mut self, Cursor { remaining, position, .. }: Cursor) {
        // A cursor comes from outside: it must not raise the limit of its query.
        let limit = |own: usize| remaining.map_or(own, |other| other.min(own));
        self.pages.remaining_in_query = self.pages.remaining_in_query.map(limit);
        if let (Some(lookups), Some(listed)) = (&mut self.lookups, &position.listed) {
            let list = RowKeys { partition_key: position.partition_key.clone(), row_key: position.row_key.clone() };
            lookups.resume(list, listed.clone());
        }
        if let Some(start) = &mut self.start {
            start.resumed = Some(position);
        }
    }

    /// Checks whether there may be more rows after a run.
    pub fn has_more(&self) -> bool {
        let waiting = self.lookups.as_ref().is_some_and(|lookups| !lookups.is_empty());
        (waiting || self.pages.truncated || !self.pages.stages.is_empty()) && self.pages.remaining_in_query != Some(0)
    }
}
