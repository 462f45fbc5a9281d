//! Running a query, page by page.

use std::{collections::VecDeque, sync::Arc};

use super::{
    lookups::Lookups,
    plan::{Erased, Plan},
    view::Found,
    visible::Visible,
};
use crate::{
    Condition, Result, RowRef, Tables,
    backend::{Backend, Continuation, Partitions, Reader, Scan},
    cursor::Cursor,
    limits,
};

/// What a found row is lent to; it says whether it was a match, and given out.
pub(super) type FoundReader<'a> = &'a mut (dyn FnMut(Found<'_>) -> Result<bool> + Send);

/// What a query finds, read when it is asked for.
pub(super) struct Source {
    pub(super) pages: RowPages,
    layout: usize,
    entities: Visible,
    /// Whether the rows are the entities' own.
    is_primary: bool,
    /// What is asked of the index before its first row.
    begins: Option<(Tables, Erased)>,
    /// The way to the entities, where the rows only lead there.
    lookups: Option<Lookups>,
}

/// The pages of a scan.
pub(super) struct RowPages {
    backend: Arc<dyn Backend>,
    /// What is still to be read, one after the other.
    pub(super) scans: VecDeque<Scan>,
    /// Where the first of them goes on.
    from: Option<Continuation>,
    /// How many rows may still be given out by this run, and by the query in all.
    pub(super) left: usize,
    pub(super) taken: Option<usize>,
    /// Whether a row was read and not given out, since nobody may see it, or it is no match.
    dropped: bool,
    /// Whether a row was left for a next run.
    cut: bool,
}

impl RowPages {
    /// Lends the next page of rows to `read`; `false` at the end.
    async fn next(&mut self, read: Reader<'_>) -> Result<bool> {
        let Some(scan) = self.scans.front_mut() else { return Ok(false) };
        let left = u32::try_from(self.left).unwrap_or(u32::MAX);
        // What was dropped is made up for, in few requests even where there is much of it.
        let size = if self.dropped { left.max(scan.page.saturating_mul(2)) } else { left };
        scan.page = size.min(limits::PAGE);
        self.from = self.backend.query_with(scan, self.from.as_ref(), read).await?;
        if self.from.is_none() {
            self.scans.pop_front();
        }
        Ok(true)
    }

    fn give(&mut self, rows: usize) {
        self.left -= rows;
        self.taken = self.taken.map(|taken| taken.saturating_sub(rows));
    }
}

impl Source {
    /// What the plan finds in these partitions.
    pub(super) fn new(plan: &Plan, tables: &Tables, partitions: Partitions) -> Result<Self> {
        let scan = plan.checked_scan(partitions)?;
        let erased = plan.erased();
        let lookups = erased.filter(|_| plan.is_lookup()).map(|erased| {
            Lookups::new(tables.clone(), plan.layout(), erased, plan.visible(), plan.entity_filter().cloned())
        });
        let pages = RowPages {
            backend: tables.backend().clone(),
            scans: [scan].into(),
            from: None,
            left: plan.take.unwrap_or(usize::MAX),
            taken: plan.take,
            dropped: false,
            cut: false,
        };
        Ok(Self {
            pages,
            layout: plan.layout_number(),
            entities: plan.visible(),
            is_primary: plan.layout().index.is_none(),
            begins: erased.map(|erased| (tables.clone(), erased)),
            lookups,
        })
    }

    /// These rows, with the properties alone by which they are counted. Those that lead to entities stay as they are.
    pub(super) fn for_count(mut self) -> Self {
        if self.lookups.is_none() {
            let select = if self.is_primary { self.entities.mark() } else { &[] };
            self.pages.scans.iter_mut().for_each(|scan| scan.select = Some(select.into()));
        }
        self
    }

    /// The condition that the store does not see.
    pub(super) fn entity_filter(&self) -> Option<&Condition> {
        self.lookups.as_ref().and_then(Lookups::filter)
    }

    /// Lends what is found next to `read`, a page of rows or an entity; `false` at the end, where there is nothing.
    pub(super) async fn next(&mut self, read: FoundReader<'_>) -> Result<bool> {
        self.begin().await?;
        if self.lookups.is_some() { self.next_entity(read).await } else { self.next_rows(read).await }
    }

    async fn begin(&mut self) -> Result<()> {
        match self.begins.take() {
            Some((tables, erased)) => erased.is_ready(&tables).await,
            None => Ok(()),
        }
    }

    async fn next_rows(&mut self, read: FoundReader<'_>) -> Result<bool> {
        let (layout, entities, is_primary) = (self.layout, self.entities, self.is_primary);
        let pages = &mut self.pages;
        while pages.left > 0 {
            let Some(table) = pages.scans.front().map(|scan| scan.table.clone()) else { break };
            let (mut given, left, mut dropped, mut cut) = (0, pages.left, false, false);
            let mut one = |row: RowRef<'_>| {
                if is_primary && !entities.is_committed(row)? {
                    dropped = true;
                } else if given == left {
                    // The size of a page is asked for, and not enforced; and more was asked for if any was dropped.
                    cut = true;
                } else if read(Found { layout, table: &table, row, through: None })? {
                    given += 1;
                }
                Ok(())
            };
            pages.next(&mut one).await?;
            pages.dropped |= dropped;
            pages.cut |= cut;
            pages.give(given);
            // An empty page with a continuation is legal.
            if given > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn next_entity(&mut self, read: FoundReader<'_>) -> Result<bool> {
        let Self { pages, lookups: Some(lookups), .. } = self else { return Ok(false) };
        while pages.left > 0 {
            // As many as may be given out at most: nothing is read in vain but what is no match.
            lookups.begin(pages.left).await?;
            match lookups.next(read).await? {
                Some(true) => {
                    pages.give(1);
                    return Ok(true);
                }
                Some(false) => pages.dropped = true,
                None => {
                    if !pages.next(&mut |row| lookups.push(row)).await? {
                        break;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Counts the rows of an index, not their entities.
    pub(super) async fn count_pointers(mut self) -> Result<usize> {
        self.begin().await?;
        let Self { mut pages, lookups: Some(mut lookups), .. } = self else { return Ok(0) };
        let is_list = lookups.is_list();
        if !is_list {
            pages.scans.iter_mut().for_each(|scan| scan.select = Some([].as_slice().into()));
        }
        let most = pages.left;
        let mut count = 0;
        while pages.left > 0 {
            let mut lists = Vec::new();
            let mut one = |row: RowRef<'_>| {
                if is_list {
                    lists.push(row.to_row());
                } else {
                    count += 1;
                }
                Ok(())
            };
            if !pages.next(&mut one).await? {
                break;
            }
            for list in lists {
                count += lookups.count(list).await?;
            }
            pages.left = most.saturating_sub(count);
        }
        Ok(count.min(most))
    }

    /// Goes on after the row of a cursor, of which `scans` is the rest.
    pub(super) fn resume(&mut self, scans: VecDeque<Scan>, cursor: Cursor) {
        self.pages.scans = scans;
        // No cursor allows more than its query does, whoever wrote it.
        self.pages.taken = self.pages.taken.map(|taken| cursor.left.map_or(taken, |left| left.min(taken)));
        if let (Some(lookups), Some(listed)) = (&mut self.lookups, cursor.listed) {
            lookups.resume(cursor.row_key, listed);
        }
    }

    /// Whether there may be more after a run.
    pub(super) fn has_more(&self) -> bool {
        let waiting = self.lookups.as_ref().is_some_and(|lookups| !lookups.is_empty());
        (waiting || self.pages.cut || !self.pages.scans.is_empty()) && self.pages.taken != Some(0)
    }
}
