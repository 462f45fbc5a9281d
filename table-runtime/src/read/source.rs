//! Running a query, page by page.

use std::sync::Arc;

use super::{
    cursor::Cursor,
    found::FoundRow,
    lookups::Lookups,
    plan::{EntityFns, Plan, Reached},
    selection::Selection,
    slices::Slices,
    stages::{Stages, TableReader, Wanted, after},
    visible::Visible,
};
use crate::{
    Error, LayoutInfo, Result, RowRef, Tables,
    backend::{Backend, Scan},
};

/// What a found row is lent to; it says whether it was a match, and given out.
pub(crate) type FoundReader<'a> = &'a mut (dyn FnMut(FoundRow<'_>) -> Result<bool> + Send);

/// What a query finds, read when it is asked for.
pub(crate) struct Source {
    pub(crate) pages: RowPages,
    layout: usize,
    entities: Visible,
    selection: Option<Selection>,
    /// Whether the rows are the entities' own.
    is_primary: bool,
    /// Whether rows may be read without a look at their keys.
    is_keyless: bool,
    /// What is to be done before the first row is read.
    begins: Option<Beginning>,
    /// The way to the entities, where the rows only lead there.
    lookups: Option<Lookups>,
}

/// A query before its first row.
struct Beginning {
    /// What it reads, merged.
    scans: Vec<Scan>,
    /// Where it goes on.
    resumed: Option<Cursor>,
    /// What is asked of an index.
    index: Option<(Tables, EntityFns)>,
    /// The tables, where there are several.
    slices: Option<Slices>,
    /// Whether there is nothing to read.
    is_nothing: bool,
}

/// The rows of a query, page by page.
pub(crate) struct RowPages {
    backend: Arc<dyn Backend>,
    stages: Stages,
    /// How many rows may still be given out by this run, and by the query in all.
    pub(crate) left: usize,
    pub(crate) taken: Option<usize>,
    /// Whether a row was read and not given out, since nobody may see it, or it is no match.
    dropped: bool,
    /// Whether a row was left for a next run.
    cut: bool,
    sliced: bool,
}

impl RowPages {
    /// Lends the next rows to `read`; `false` at the end.
    async fn next(&mut self, read: TableReader<'_>) -> Result<bool> {
        let wanted = Wanted { left: self.left, dropped: self.dropped, sliced: self.sliced };
        self.stages.next(&self.backend, wanted, read).await
    }

    fn give(&mut self, rows: usize) {
        self.left -= rows;
        self.taken = self.taken.map(|taken| taken.saturating_sub(rows));
    }
}

impl Source {
    /// What the plan finds in these partitions.
    pub(crate) fn new(plan: &Plan, tables: &Tables, reached: Reached) -> Result<Self> {
        let scans = plan.checked_scans(reached)?;
        let entity_fns = plan.entity_fns();
        let lookups = entity_fns.filter(|_| plan.is_lookup()).map(|entity_fns| {
            Lookups::new(tables.clone(), plan.layout(), entity_fns, plan.visible(), plan.entity_filter().cloned())
        });
        let pages = RowPages {
            backend: tables.backend().clone(),
            stages: Stages::default(),
            left: plan.take.unwrap_or(usize::MAX),
            taken: plan.take,
            dropped: false,
            cut: false,
            sliced: plan.layout().slice.is_some(),
        };
        let slices = scans.first().and_then(|scan| Slices::new(plan, reached, &scan.rows));
        let index = entity_fns.map(|entity_fns| (tables.clone(), entity_fns));
        Ok(Self {
            pages,
            layout: plan.layout_number(),
            entities: plan.visible(),
            selection: plan.selection(),
            is_primary: plan.layout().index.is_none(),
            is_keyless: false,
            begins: Some(Beginning { scans, resumed: None, index, slices, is_nothing: plan.is_nothing() }),
            lookups,
        })
    }

    /// These rows, with the properties alone by which they are counted. Those that lead to entities stay as they are.
    pub(crate) fn for_count(mut self) -> Self {
        if self.lookups.is_none() {
            self.select(if self.is_primary { self.entities.properties_of_found() } else { &[] });
        }
        self
    }

    fn select(&mut self, select: &'static [&'static str]) {
        if let Some(begins) = &mut self.begins {
            begins.scans.iter_mut().for_each(|scan| scan.select = Some(select.into()));
        }
    }

    /// Lends what is found next to `read`, a page of rows or an entity; `false` at the end, where there is nothing.
    pub(crate) async fn next(&mut self, read: FoundReader<'_>) -> Result<bool> {
        self.begin().await?;
        if self.lookups.is_some() { self.next_entity(read).await } else { self.next_rows(read).await }
    }

    async fn begin(&mut self) -> Result<()> {
        let Some(Beginning { scans, resumed, index, slices, is_nothing }) = self.begins.take() else { return Ok(()) };
        self.is_keyless = scans.first().is_some_and(|scan| scan.select.is_some());
        if let Some((tables, entity_fns)) = index {
            entity_fns.is_ready(&tables).await?;
        }
        if is_nothing {
            return Ok(());
        }
        let rest = resumed.as_ref().map(|cursor| after(&scans, cursor));
        let stages = match slices {
            None => rest.unwrap_or_else(|| vec![scans]),
            Some(slices) => {
                let tables = slices.tables(&self.pages.backend).await?;
                let at = resumed.as_ref().and_then(|cursor| cursor.slice.as_deref());
                slices.stages(&tables, &scans, rest.as_deref().map(|rest| (rest, at)))
            }
        };
        for stage in stages {
            self.pages.stages.push(stage);
        }
        Ok(())
    }

    async fn next_rows(&mut self, read: FoundReader<'_>) -> Result<bool> {
        let Self { layout, entities, is_primary, is_keyless, .. } = *self;
        let pages = &mut self.pages;
        while pages.left > 0 {
            let (mut given, left, mut dropped, mut cut) = (0, pages.left, false, false);
            let mut one = |table: &str, row: RowRef<'_>| {
                let is_other = |row: RowRef<'_>| is_primary && !entities.has_shape(row);
                if is_primary && !entities.is_visible_after_filter(row)? || is_keyless && is_other(row) {
                    dropped = true;
                } else if given == left {
                    // The size of a page is asked for, and not enforced; and more was asked for if any was dropped.
                    cut = true;
                } else {
                    match read(FoundRow { layout, table, row, pointer: None }) {
                        Ok(is_match) => given += usize::from(is_match),
                        // Most tables have one entity: its rows are read without asking first.
                        Err(Error::Key(_)) if is_other(row) => dropped = true,
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            };
            if !pages.next(&mut one).await? {
                break;
            }
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
                    if !pages.next(&mut |_, row| lookups.push(row)).await? {
                        break;
                    }
                }
            }
        }
        Ok(false)
    }

    /// Counts the rows of an index, not their entities.
    pub(crate) async fn count_pointers(mut self) -> Result<usize> {
        let is_list = self.lookups.as_ref().is_some_and(Lookups::is_list);
        if !is_list {
            self.select(&[]);
        }
        self.begin().await?;
        let Self { mut pages, lookups: Some(mut lookups), .. } = self else { return Ok(0) };
        let most = pages.left;
        let mut count = 0;
        while pages.left > 0 {
            let mut lists = Vec::new();
            let mut one = |_: &str, row: RowRef<'_>| {
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

    /// Whether its rows stand in several tables.
    pub(crate) fn is_sliced(&self) -> bool {
        self.pages.sliced
    }

    /// What the cursors of this query are known by.
    pub(crate) fn query(&self, layout: &LayoutInfo) -> u64 {
        let filter = self.lookups.as_ref().and_then(Lookups::filter);
        let scan = self.begins.as_ref().and_then(|begins| begins.scans.first());
        // A projection of key fields asks for no property, but is another query.
        let view = format!("{}\n{:?}", self.entities.fingerprint(), self.selection.map(Selection::properties));
        scan.map_or(0, |scan| Cursor::query(layout, scan, self.pages.taken, filter, &view))
    }

    /// Checks the query as it goes on after the row of a cursor.
    pub(crate) fn check_after(&self, cursor: &Cursor) -> Result<()> {
        let scans = self.begins.as_ref().map(|begins| after(&begins.scans, cursor)).unwrap_or_default();
        scans.iter().flatten().try_for_each(Scan::check)
    }

    /// Goes on after the row of a cursor.
    pub(crate) fn resume(&mut self, cursor: Cursor) {
        // No cursor allows more than its query does, whoever wrote it.
        self.pages.taken = self.pages.taken.map(|taken| cursor.left.map_or(taken, |left| left.min(taken)));
        if let (Some(lookups), Some(listed)) = (&mut self.lookups, &cursor.listed) {
            lookups.resume((cursor.partition_key.clone(), cursor.row_key.clone()), listed.clone());
        }
        if let Some(begins) = &mut self.begins {
            begins.resumed = Some(cursor);
        }
    }

    /// Whether there may be more after a run.
    pub(crate) fn has_more(&self) -> bool {
        let waiting = self.lookups.as_ref().is_some_and(|lookups| !lookups.is_empty());
        (waiting || self.pages.cut || !self.pages.stages.is_empty()) && self.pages.taken != Some(0)
    }
}
