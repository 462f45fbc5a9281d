//! Comparison of entities with the rows of their indexes, by hashes.
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

use std::{ops::ControlFlow, sync::Mutex};

use table_model::{Holds, unstable::codec::is_unreadable};
use table_store::{
    ETag, Error, Result, Row, RowRef,
    backend::{BoxFuture, KeyRange},
    unstable::RowKeys,
};

use super::{
    described::Described,
    hashes::{HashRange, Hashes},
    job::{JobOptions, Progress},
    position::{JobPosition, Phase},
};
use crate::{
    admin::scan::{RowRange, ScannedPage, Section, SideBySide, includes, intersection},
    client::{pacing, tables::lock},
    write::{
        RowHasher,
        index::{FoundEntity, ListStore},
    },
};

/// A comparison in progress.
pub struct RowComparison<'c> {
    of: &'c dyn Described,
    partitions: KeyRange,
    memory: usize,
    pages: usize,
    /// What is left of the pass that an earlier job has begun.
    resumed: Option<(Phase, Vec<RowRange>)>,
    pass: usize,
    phase: Phase,
    state: Mutex<State>,
}

/// What the rows of a pass have shown so far.
struct State {
    hashes: Hashes,
    /// Number of the entities whose rows were collected.
    entities: usize,
    /// Number of the rows, or members of lists, that were compared.
    index_rows: usize,
    hasher: RowHasher,
}

/// What a page has shown.
pub struct Compared {
    /// Number of entities that were read for the first time.
    pub entities: usize,
    /// Number of index rows that were read for the first time.
    pub index_rows: usize,
    pub pass: usize,
    /// Number of passes, as far as it is known.
    pub passes: usize,
    hashes: HashRange,
    /// Estimated number of the rows that the pass has still to read.
    rows_left: Option<usize>,
    phase: Phase,
    left: Vec<RowRange>,
}

/// A row that may be wrong.
pub enum Suspect {
    /// A row that cannot be read, or belongs to another entity or index.
    Foreign { layout: usize, keys: RowKeys, problem: Error },
    /// An entity whose insert is not committed, in the version that was read.
    Pending { keys: RowKeys, etag: ETag },
    /// An entity whose rows in these indexes are missing or differ.
    Entity { found: Box<FoundEntity>, layouts: Vec<usize> },
    /// A row of an index that no entity was found to have.
    IndexRow { layout: usize, row: Row },
    /// A list, and the entities in it that were not found to have its value.
    List { layout: usize, keys: RowKeys, members: Vec<RowKeys> },
}

/// What a row is for the comparison.
pub(super) enum Seen {
    /// A row of others.
    Other,
    Right,
    Suspect(Suspect),
}

/// The suspects of a page, with the number of rows that were read for the first time.
#[derive(Default)]
struct Suspects {
    all: Vec<Suspect>,
    entities: usize,
    index_rows: usize,
}

impl Compared {
    /// Returns the progress after the page, with all that was counted before it.
    pub(super) fn add_to<P>(self, progress: &mut Progress, options: &JobOptions<'_, P>, job: u64) {
        progress.entities += self.entities;
        progress.index_rows += self.index_rows;
        (progress.pass, progress.passes, progress.rows_left) = (self.pass, self.passes, self.rows_left);
        if options.on_progress.is_some() {
            let Self { pass, hashes, phase, left, .. } = self;
            let position = JobPosition { pass, hashes, phase, ..JobPosition::of(job, options.asked(), left) };
            progress.cursor = position.text();
        }
    }
}

impl<'c> RowComparison<'c> {
    /// Returns a comparison of all rows.
    pub fn new(of: &'c dyn Described, memory: usize, pages: usize) -> Self {
        let state = Mutex::new(State {
            hashes: Hashes::new(HashRange::ALL, memory),
            entities: 0,
            index_rows: 0,
            hasher: RowHasher::default(),
        });
        let (partitions, phase) = (KeyRange::ALL, Phase::Entities);
        Self { of, partitions, memory, pages, resumed: None, pass: 1, phase, state }
    }

    /// Returns a comparison with the options of a job.
    pub fn with<P>(of: &'c dyn Described, options: &mut JobOptions<'_, P>) -> Result<Self> {
        let mut comparison = Self::new(of, options.memory, options.pages(of.client()));
        comparison.partitions = options.partitions.clone();
        if let Some(position) = options.begin()? {
            comparison.pass = position.pass;
            comparison.resumed = Some((position.phase, position.left));
            comparison.state(|state| state.hashes = Hashes::new(position.hashes, options.memory));
        }
        Ok(comparison)
    }

    fn state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut lock(&self.state))
    }

    /// Compares all rows. Does the work on the suspects of each page, and calls `done` after it.
    pub async fn run<'w, T: Send + 'w>(
        &mut self,
        work: &'w (dyn Fn(String, Vec<Suspect>) -> BoxFuture<'w, Result<T>> + Send + Sync + 'w),
        mut done: impl FnMut(Compared, T),
    ) -> Result<()> {
        loop {
            let mut scan = self.scan().await?;
            let own = &*self;
            let compare = move |page: ScannedPage| -> BoxFuture<'_, Result<_>> {
                Box::pin(async move {
                    let Suspects { all, entities, index_rows } = own.compare(&page).await?;
                    Ok((entities, index_rows, work(page.table.into_owned(), all).await?))
                })
            };
            if !own.is_complete() {
                scan.each(&compare, |scan, (entities, index_rows, output)| {
                    let (hashes, left_passes) = own.state(|state| (state.hashes.range(), state.hashes.passes_left()));
                    let (phase, left) = own.left(scan);
                    let (pass, passes) = (own.pass, own.pass + left_passes);
                    let rows_left = own.rows_left(scan);
                    done(Compared { entities, index_rows, pass, passes, hashes, rows_left, phase, left }, output);
                    if own.is_complete() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
                .await?;
            }
            if !self.begin_next_phase() {
                return Ok(());
            }
        }
    }

    /// Checks whether all rows of the phase that matter were found.
    fn is_complete(&self) -> bool {
        self.phase == Phase::Missing && self.state(|state| state.hashes.unmarked() == 0)
    }

    /// Returns the scan of the phase.
    async fn scan(&mut self) -> Result<SideBySide> {
        let sections = sections_of(self.of, self.phase, &self.partitions).await?;
        let scan = SideBySide::new(self.of.client().clone(), sections, self.pages);
        // Two scans have to see all rows of the pass, whatever was examined before. The third collects nothing.
        let is_only = self.phase == Phase::Entities && !self.of.has_indexes();
        match &self.resumed {
            Some((phase, left)) if *phase == self.phase && (is_only || *phase == Phase::Missing) => {
                let scan = scan.within(left);
                self.resumed = None;
                Ok(scan)
            }
            _ => Ok(scan),
        }
    }

    /// Begins the scan after the one that has ended. Returns false if there is none.
    fn begin_next_phase(&mut self) -> bool {
        self.phase = match self.phase {
            Phase::Entities if !self.of.has_indexes() => return false,
            Phase::Entities => {
                self.state(|state| state.hashes.sort());
                Phase::IndexRows
            }
            Phase::IndexRows => {
                self.state(|state| state.hashes.keep_unmarked());
                Phase::Missing
            }
            Phase::Missing => {
                let Some(range) = self.state(|state| state.hashes.next_range()) else { return false };
                self.state(|state| {
                    (state.hashes, state.entities, state.index_rows) = (Hashes::new(range, self.memory), 0, 0);
                });
                self.pass += 1;
                self.resumed = None;
                Phase::Entities
            }
        };
        true
    }

    /// Returns the rows that are neither done nor were done by the job that this one continues.
    fn left(&self, scan: &SideBySide) -> (Phase, Vec<RowRange>) {
        match &self.resumed {
            Some((phase, left)) if self.phase < *phase => (*phase, left.clone()),
            Some((phase, left)) if self.phase == *phase => (self.phase, intersection(left, &scan.left())),
            _ => (self.phase, scan.left()),
        }
    }

    /// Returns the estimated number of rows that the pass has still to read; `None` if it is not known.
    fn rows_left(&self, scan: &SideBySide) -> Option<usize> {
        self.state(|State { hashes, entities, index_rows, .. }| match self.phase {
            _ if self.pass > 1 => None,
            // The entities that are left have as many index rows as the others.
            Phase::Entities => {
                let left = scan.rows_left()?;
                let of_index = hashes.count().saturating_mul(*entities + left).checked_div(*entities);
                Some(left + of_index.unwrap_or_default())
            }
            Phase::IndexRows => Some(hashes.count().saturating_sub(*index_rows)),
            Phase::Missing => None,
        })
    }

    /// Checks whether the job that this one continues has examined a row.
    fn is_examined(&self, page: &ScannedPage, row: RowRef<'_>) -> bool {
        self.resumed.as_ref().is_some_and(|(phase, left)| {
            let keys = (row.partition_key, row.row_key);
            self.phase < *phase || self.phase == *phase && !includes(left, page.layout, &page.table, keys)
        })
    }

    async fn compare(&self, page: &ScannedPage) -> Result<Suspects> {
        let lists = if self.phase == Phase::IndexRows { read_lists(self.of, page).await? } else { Vec::new() };
        let (mut lists, mut suspects) = (lists.into_iter(), Suspects::default());
        let state = &mut *lock(&self.state);
        for row in page.rows() {
            let list = lists.next().flatten();
            let compared = match self.phase {
                Phase::Entities => self.collect(state, &page.table, row),
                Phase::IndexRows => self.compare_row(state, page, row, list),
                Phase::Missing => self.find_missing(state, &page.table, row),
            };
            if matches!(compared, Seen::Other) || self.is_examined(page, row) {
                continue;
            }
            if self.pass == 1 && self.phase != Phase::Missing {
                *(if self.phase == Phase::Entities { &mut suspects.entities } else { &mut suspects.index_rows }) += 1;
            }
            if let Seen::Suspect(suspect) = compared {
                suspects.all.push(suspect);
            }
        }
        Ok(suspects)
    }

    /// Collects the hashes of the rows that an entity should have.
    fn collect(&self, state: &mut State, table: &str, row: RowRef<'_>) -> Seen {
        let suspect = match read_entity(self.of, table, row) {
            None => return Seen::Other,
            Some(Err(suspect)) => Some(suspect),
            Some(Ok(found)) => {
                state.entities += 1;
                for row in self.of.expected(&found.encoded) {
                    let hash = self.of.hash_expected(&mut state.hasher, row, &found.encoded.primary.keys);
                    state.hashes.add(hash);
                }
                None
            }
        };
        suspect.filter(|_| self.pass == 1).map_or(Seen::Right, Seen::Suspect)
    }

    /// Compares a row of an index.
    fn compare_row(
        &self,
        state: &mut State,
        page: &ScannedPage,
        row: RowRef<'_>,
        list: Option<Result<Vec<String>>>,
    ) -> Seen {
        let (layout, mut wrong) = match owners(self.of, &self.partitions, page, row, list) {
            Ok(Some(owners)) => owners,
            Ok(None) => return Seen::Other,
            Err((layout, problem)) => return foreign(state, layout, row, problem),
        };
        state.index_rows += wrong.len();
        wrong.retain(|owner| {
            let hash = self.of.hash_stored(&mut state.hasher, layout, row, owner);
            state.hashes.covers(hash) && !state.hashes.mark(hash)
        });
        if wrong.is_empty() || !self.of.is_known(layout) {
            return Seen::Right;
        }
        Seen::Suspect(match self.of.place(layout).holds {
            Holds::List => Suspect::List { layout, keys: row.keys(), members: wrong },
            _ => Suspect::IndexRow { layout, row: row.to_row() },
        })
    }

    /// Returns the entity if rows that it should have are among those that were not found.
    fn find_missing(&self, state: &mut State, table: &str, row: RowRef<'_>) -> Seen {
        // The first scan reported rows that cannot be read, and pending inserts.
        let found = self.of.read(table, row.to_row()).ok().flatten().filter(|found| found.pending.is_none());
        let Some(found) = found else { return Seen::Other };
        let mut layouts = Vec::new();
        for row in self.of.expected(&found.encoded) {
            let hash = self.of.hash_expected(&mut state.hasher, row, &found.encoded.primary.keys);
            if state.hashes.mark(hash) {
                layouts.push(row.layout);
            }
        }
        layouts.dedup();
        if layouts.is_empty() {
            return Seen::Right;
        }
        Seen::Suspect(Suspect::Entity { found: Box::new(found), layouts })
    }
}

/// Returns the rows that a phase reads, for the entities of these partitions.
pub(super) async fn sections_of(of: &dyn Described, phase: Phase, partitions: &KeyRange) -> Result<Vec<Section>> {
    let within = |section: Section| {
        let is_of_entities = phase != Phase::IndexRows || of.place(section.layout).is_same_partition;
        if is_of_entities { section.within(partitions) } else { Some(section) }
    };
    Ok(of.sections(phase).await?.into_iter().filter_map(within).collect())
}

/// Reads the entity in a row; `None` if the row belongs to others. An entity that cannot be read, or is not committed, is a
/// suspect.
pub(super) fn read_entity(of: &dyn Described, table: &str, row: RowRef<'_>) -> Option<Result<FoundEntity, Suspect>> {
    match of.read(table, row.to_row()) {
        Ok(None) => None,
        Err(problem) => Some(Err(Suspect::Foreign { layout: 0, keys: row.keys(), problem })),
        Ok(Some(found)) if found.pending.is_some() => {
            Some(Err(Suspect::Pending { keys: row.keys(), etag: found.row.etag }))
        }
        Ok(Some(found)) => Some(Ok(found)),
    }
}

/// Returns the layout of an index row, and the entities to which it leads, of these partitions; `None` if it is not compared.
///
/// # Errors
/// Returns the layout among whose rows it is, and the reason why it is none of them.
pub(super) fn owners(
    of: &dyn Described,
    partitions: &KeyRange,
    page: &ScannedPage,
    row: RowRef<'_>,
    list: Option<Result<Vec<String>>>,
) -> Result<Option<(usize, Vec<RowKeys>)>, (usize, Error)> {
    let Some(layout) = of.layout(page.layout, &page.table, row).map_err(|problem| (page.layout, problem))? else {
        return Ok(None);
    };
    let owners = match list {
        Some(members) => members.map(|members| members.iter().map(|member| row.with_row_key(member)).collect()),
        None => of.owner(layout, row).map(|owner| vec![owner]),
    };
    let mut owners: Vec<RowKeys> = owners.map_err(|problem| (layout, problem))?;
    owners.retain(|owner| partitions.contains(&owner.partition_key));
    Ok(Some((layout, owners)))
}

/// Returns a row that leads to no entity, in the one pass whose range has the hash of its keys.
fn foreign(state: &mut State, layout: usize, row: RowRef<'_>, problem: Error) -> Seen {
    let hash = state.hasher.number(layout).text(row.partition_key).text(row.row_key).finish();
    if !state.hashes.covers(hash) {
        return Seen::Right;
    }
    Seen::Suspect(Suspect::Foreign { layout, keys: row.keys(), problem })
}

/// Returns the members of each list of a page, or the error if they cannot be read; `None` for each other row. Reads the
/// further rows of lists that have several.
pub(super) async fn read_lists(of: &dyn Described, page: &ScannedPage) -> Result<Vec<Option<Result<Vec<String>>>>> {
    if !of.has_lists() {
        return Ok(Vec::new());
    }
    let mut reads: Vec<BoxFuture<'_, _>> = Vec::new();
    for row in page.rows() {
        let layout = of.layout(page.layout, &page.table, row).ok().flatten();
        let is_list = layout.is_some_and(|layout| of.place(layout).holds == Holds::List);
        reads.push(Box::pin(async move {
            if !is_list {
                return Ok(None);
            }
            match (ListStore { backend: of.client(), table: &page.table }).members_from(row).await {
                Err(problem) if is_unreadable(&problem) => Ok(Some(Err(problem))),
                members => members.map(|members| Some(Ok(members))),
            }
        }));
    }
    pacing::concurrently(reads).await
}
