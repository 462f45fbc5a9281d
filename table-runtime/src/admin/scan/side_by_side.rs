//! The parts of a scan that are read and worked on side by side.
//!
//! A section is read from its beginning. As soon as its first page shows that there is more, requests that are free ask
//! for the first row after some keys, which divides the rest: by partition keys, and within one partition by row keys. A
//! request that is free later divides the part with the most rows in the same way. A key after which there is no row ends
//! its part.
//!
//! A part is divided only after the page that is being worked on. So each row is worked on once, and what is done of each
//! part is always the rows up to a place.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use futures_util::{StreamExt, stream::FuturesUnordered};
use table_store::{
    Error, Result, RowSet,
    backend::{BoxFuture, Partitions, Scan},
    unstable::{ScanProgress, client::Client},
};

use super::{
    alphabet::Alphabet,
    place::{Point, RowRange},
    section::{ScannedPage, Section, Shard},
};
use crate::client::{pace::Pace, pacing};

/// Number of pages for each request from which a part is unlikely to have so many rows.
const FAR: f64 = 100.0;

/// The work on a page.
pub type Work<'w, T> = dyn Fn(ScannedPage) -> BoxFuture<'w, Result<T>> + Send + Sync + 'w;

/// A scan of sections, several parts of them side by side.
pub struct SideBySide {
    client: Arc<Client>,
    sections: Vec<Section>,
    /// What is known of the keys of each section.
    known: Vec<Known>,
    /// The parts of which not all rows are done, in the order of their rows.
    parts: Vec<Part>,
    /// Number of the next part.
    next: usize,
    most: usize,
    shard: Option<Shard>,
}

/// What is known of the keys of a section.
#[derive(Default)]
struct Known {
    partition_keys: Alphabet,
    row_keys: Alphabet,
    /// The largest number of rows of a page.
    page: f64,
    /// Number of requests in flight that look for rows at which to divide.
    asked: usize,
}

/// A part of a section.
#[derive(Default)]
struct Part {
    id: usize,
    section: usize,
    /// All rows before this point are done.
    from: Option<Point>,
    to: Option<Point>,
    /// The last row of the page that is being worked on, or that was.
    taken: Option<Point>,
    /// The first row, if it is known.
    first: Option<Point>,
    state: PartState,
    /// The scans that are left; `None` before they are known.
    scans: Option<VecDeque<Scan>>,
    progress: ScanProgress,
    /// True if `to` is no longer that of the scans.
    is_shortened: bool,
    /// What the page that was read last shows of the rows that are left.
    density: Option<Density>,
    /// False if it is not known where to divide the part.
    is_divisible: bool,
    /// True if nothing is known of where the rows end.
    is_open: bool,
}

/// Number of rows for a distance of one: of row keys, if the rows were those of one partition, or of partition keys.
#[derive(Clone, Copy, Debug)]
struct Density {
    of_rows: bool,
    rows: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PartState {
    /// Before its first request.
    #[default]
    New,
    Waiting,
    /// A request is under way.
    Reading,
    /// A page is being worked on.
    Working,
    /// The last page is being worked on.
    Ending,
}

/// The answer to a request, or the end of the work on a page.
enum Answer<T> {
    Page {
        part: usize,
        rows: RowSet,
        progress: ScanProgress,
    },
    Worked {
        part: usize,
        output: T,
    },
    /// The first row after a point of a section.
    First {
        section: usize,
        after: Point,
        row: Option<Point>,
    },
}

type Answers<'w, T> = FuturesUnordered<BoxFuture<'w, Result<Answer<T>>>>;

impl Part {
    /// Returns the point after the rows that are done or worked on.
    fn begin(&self) -> Option<&Point> {
        self.taken.as_ref().or(self.from.as_ref())
    }

    /// Returns the only partition of the part, if all that is left is known to be in one.
    fn partition<'p>(&'p self, section: &'p Section) -> Option<&'p str> {
        match (&section.scan.partitions, self.begin(), &self.to) {
            (Partitions::One(own), _, _) => Some(own),
            (_, Some(Point { partition_key, row_key: Some(_) }), Some(to)) if to.partition_key == *partition_key => {
                Some(partition_key)
            }
            _ => None,
        }
    }

    /// Returns the keys between which the rows that are left are: row keys of one partition, or partition keys.
    fn keys<'p>(&'p self, section: &'p Section) -> (&'p str, Option<&'p str>) {
        let (begin, to) = (self.begin(), self.to.as_ref());
        if self.partition(section).is_some() {
            let row_key = |point: Option<&'p Point>| point.and_then(|point| point.row_key.as_deref());
            return (row_key(begin).unwrap_or(""), row_key(to));
        }
        let key = |point: &'p Point| &*point.partition_key;
        (begin.map_or("", key), to.map(key))
    }

    fn distance(&self, section: &Section, known: &Known) -> f64 {
        let (from, to) = self.keys(section);
        known.alphabet(self.partition(section).is_some()).distance(from, to)
    }
}

impl Known {
    const fn alphabet(&self, of_rows: bool) -> &Alphabet {
        if of_rows { &self.row_keys } else { &self.partition_keys }
    }
}

impl SideBySide {
    /// Returns a scan of the sections with at most so many requests at the same time.
    pub fn new(client: Arc<Client>, sections: Vec<Section>, most: usize) -> Self {
        let known = sections.iter().map(|_| Known::default()).collect();
        let mut scan = Self { client, sections, known, parts: Vec::new(), next: 0, most: most.max(1), shard: None };
        for section in 0..scan.sections.len() {
            scan.add(scan.parts.len(), section, None, None);
        }
        scan
    }

    /// Limits the scan to these ranges, which are in order.
    pub fn within(mut self, ranges: &[RowRange]) -> Self {
        self.parts.clear();
        for section in 0..self.sections.len() {
            for (from, to) in ranges.iter().filter_map(|range| self.sections[section].part(range)).collect::<Vec<_>>() {
                self.add(self.parts.len(), section, from, to);
            }
        }
        self
    }

    /// Limits the scan to the partitions of a share.
    pub fn of_shard(mut self, shard: Option<Shard>) -> Self {
        self.shard = shard;
        self
    }

    /// Adds a part at a position.
    fn add(&mut self, at: usize, section: usize, from: Option<Point>, to: Option<Point>) {
        self.next += 1;
        let part = Part { id: self.next, section, from, to, is_divisible: true, is_open: true, ..Part::default() };
        self.parts.insert(at, part);
    }

    /// Returns the ranges of which not all rows are done, in order. There is none at the end.
    pub fn left(&self) -> Vec<RowRange> {
        let mut left: Vec<RowRange> = Vec::new();
        for part in &self.parts {
            let section = &self.sections[part.section];
            let from = match &part.from {
                Some(from) => Some(section.place(Some(from.clone()))),
                None => part.section.checked_sub(1).map(|before| self.sections[before].end()),
            };
            let to = part.to.clone().map_or_else(|| section.end(), |to| section.place(Some(to)));
            match left.last_mut() {
                Some(last) if Some(&last.to) == from.as_ref() => last.to = to,
                _ => left.push(RowRange { from, to }),
            }
        }
        left
    }

    /// Returns the estimated number of rows that are left, from the distances of keys; `None` as long as nothing is known of
    /// where some of them end.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate is a positive number")]
    pub fn rows_left(&self) -> Option<usize> {
        let begun = self.parts.iter().filter(|part| part.state != PartState::Ending);
        let rows: Option<f64> = begun.map(|part| self.rows(part).filter(|_| !part.is_open)).sum();
        rows.map(|rows| rows as usize)
    }

    /// Reads all rows, and does the work on each page that has any. Calls `done` after the work on a page, whose rows are
    /// then no longer [left](Self::left), until it breaks. The work on pages that were read before is then ended, and `done`
    /// called for it.
    ///
    /// # Errors
    /// The first error of a request or of the work. What is left can be read again.
    pub async fn each<'w, T: Send + 'w>(
        &mut self,
        work: &'w Work<'w, T>,
        mut done: impl FnMut(&Self, T) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut answers = Answers::new();
        let mut pace = Pace::new(self.most, self.most, self.client.overloads());
        let (mut working, mut is_ending) = (0_usize, false);
        loop {
            if !is_ending {
                self.send(&mut answers, pace.limit());
            }
            if self.parts.is_empty() || is_ending && working == 0 {
                return Ok(());
            }
            let in_flight = answers.len();
            let Some(answer) = answers.next().await else { return Ok(()) };
            match answer? {
                Answer::Page { .. } | Answer::First { .. } if is_ending => {}
                Answer::Page { part, rows, progress } => {
                    if let Some(page) = self.take(part, rows, progress) {
                        working += 1;
                        answers.push(Box::pin(async move { Ok(Answer::Worked { part, output: work(page).await? }) }));
                    }
                }
                Answer::Worked { part, output } => {
                    working -= 1;
                    self.complete(part);
                    is_ending |= done(self, output).is_break();
                }
                Answer::First { section, after, row } => self.divide(section, &after, row),
            }
            pace.note(in_flight, self.client.overloads());
        }
    }

    /// Returns what the function finds first, page by page.
    pub async fn find<T: Send>(mut self, find: impl Fn(ScannedPage) -> Option<T> + Send + Sync) -> Result<Option<T>> {
        let mut first = None;
        let work = |page: ScannedPage| -> BoxFuture<'_, _> {
            let found = find(page);
            Box::pin(async { Ok(found) })
        };
        let done = |_: &Self, found: Option<T>| {
            first = first.take().or(found);
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.each(&work, done).await?;
        Ok(first)
    }

    /// Sends requests until so many are in flight.
    fn send<'w, T: Send + 'w>(&mut self, answers: &mut Answers<'w, T>, limit: usize) {
        while answers.len() < limit {
            if let Some(at) =
                self.parts.iter().position(|part| matches!(part.state, PartState::New | PartState::Waiting))
            {
                answers.extend(self.read(at));
                continue;
            }
            let free = limit - answers.len();
            let Some((at, points)) = self.longest().map(|at| (at, self.points(at, free))) else { return };
            if points.is_empty() {
                self.parts[at].is_divisible = false;
            }
            for after in points {
                answers.push(self.ask(at, after));
            }
        }
    }

    /// Reads the next page of a part. Removes a part without one.
    fn read<'w, T: Send + 'w>(&mut self, at: usize) -> Option<BoxFuture<'w, Result<Answer<T>>>> {
        let part = &mut self.parts[at];
        let section = &self.sections[part.section];
        let scans = part.scans.get_or_insert_with(|| section.scans(part.from.as_ref(), part.to.as_ref()).into());
        let Some(scan) = scans.front().cloned() else {
            self.parts.remove(at);
            return None;
        };
        part.state = PartState::Reading;
        let (client, is_slice, id, is_next) = (self.client.clone(), section.is_slice, part.id, part.taken.is_some());
        let mut progress = std::mem::take(&mut part.progress);
        Some(Box::pin(async move {
            // The pages of a store in the process are always ready.
            if is_next {
                pacing::yield_now().await;
            }
            let rows = match client.next_page(&scan, &mut progress).await {
                // The slice was dropped meanwhile.
                Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if is_slice => {
                    progress.end();
                    RowSet::default()
                }
                rows => rows?,
            };
            Ok(Answer::Page { part: id, rows, progress })
        }))
    }

    fn position(&self, id: usize) -> Option<usize> {
        self.parts.iter().position(|part| part.id == id)
    }

    /// Takes a page of a part to work on; `None` if it has no row of the part.
    fn take(&mut self, id: usize, rows: RowSet, progress: ScanProgress) -> Option<ScannedPage> {
        let at = self.position(id)?;
        let part = &mut self.parts[at];
        // The part may have been divided since the request was sent.
        let end = part.to.as_ref().filter(|_| part.is_shortened);
        let is_own = |n: &usize| {
            let row = rows.get(*n).map(|row| (row.partition_key, row.row_key));
            row.is_none_or(|(partition_key, row_key)| end.is_none_or(|end| end.is_after(partition_key, row_key)))
        };
        let count = match end {
            None => rows.len(),
            Some(_) => (0..rows.len()).take_while(is_own).count(),
        };
        let mut has_more = count == rows.len();
        if progress.has_ended() {
            if let Some(scans) = &mut part.scans {
                scans.pop_front();
                has_more &= !scans.is_empty();
            }
            part.progress = ScanProgress::default();
        } else {
            part.progress = progress;
        }
        let Some(last) = count.checked_sub(1).and_then(|last| rows.get(last)) else {
            if has_more {
                part.state = PartState::Waiting;
                // Nothing shows how far the scan is: whether it is still in the part, and where the rest could be divided.
                part.is_divisible = false;
                if part.is_shortened {
                    (part.scans, part.progress, part.is_shortened) = (None, ScanProgress::default(), false);
                }
            } else {
                self.parts.remove(at);
            }
            return None;
        };
        let mut last_point = Point::after(last);
        if self.shard.is_some_and(|shard| !shard.has(last.partition_key)) {
            // The rest of the partition belongs to another machine.
            last_point.row_key = None;
            (part.scans, part.progress) = (None, ScanProgress::default());
        }
        part.taken = Some(last_point);
        part.state = if has_more { PartState::Working } else { PartState::Ending };
        if self.most > 1 {
            self.learn(at, &rows, count);
        }
        let Section { layout, scan: Scan { table, .. }, .. } = &self.sections[self.parts[at].section];
        let (layout, table) = (*layout, table.clone());
        Some(ScannedPage { layout, table, rows, count, shard: self.shard })
    }

    /// Notes the keys of a page of a part, and how far apart they are.
    fn learn(&mut self, at: usize, rows: &RowSet, count: usize) {
        let known = &mut self.known[self.parts[at].section];
        let every = (count / 16).max(1);
        for row in (0..count).step_by(every).chain([count - 1]).filter_map(|n| rows.get(n)) {
            known.partition_keys.learn(row.partition_key);
            known.row_keys.learn(row.row_key);
        }
        #[allow(clippy::cast_precision_loss, reason = "a page has at most 1000 rows")]
        let number = count as f64;
        known.page = known.page.max(number);
        let (Some(first), Some(last)) = (rows.get(0), rows.get(count - 1)) else { return };
        let of_rows = first.partition_key == last.partition_key;
        let (from, to) =
            if of_rows { (first.row_key, last.row_key) } else { (first.partition_key, last.partition_key) };
        let distance = known.alphabet(of_rows).distance(from, Some(to));
        let part = &mut self.parts[at];
        part.density = (distance > 0.0).then(|| Density { of_rows, rows: number / distance });
        part.is_divisible = true;
    }

    /// Notes that the work on the page of a part is done. Removes the part if it was its last one.
    fn complete(&mut self, id: usize) {
        let Some(at) = self.position(id) else { return };
        let part = &mut self.parts[at];
        if part.state == PartState::Ending {
            self.parts.remove(at);
            return;
        }
        part.from.clone_from(&part.taken);
        part.state = PartState::Waiting;
    }

    /// Returns the number of rows of a part, as far as that is known.
    fn rows(&self, part: &Part) -> Option<f64> {
        let (section, known) = (&self.sections[part.section], &self.known[part.section]);
        let density = part.density.filter(|density| density.of_rows == part.partition(section).is_some())?;
        Some(density.rows * part.distance(section, known))
    }

    /// Returns the part with the most rows of those that can be divided.
    fn longest(&self) -> Option<usize> {
        let divisible = self.parts.iter().enumerate().filter(|(_, part)| {
            matches!(part.state, PartState::Reading | PartState::Working)
                && part.is_divisible
                && (part.taken.is_some() || part.first.is_some())
                && self.known[part.section].asked == 0
        });
        let long = divisible
            .map(|(at, part)| (at, self.rows(part).unwrap_or(f64::MAX)))
            .filter(|(at, rows)| *rows > self.known[self.parts[*at].section].page);
        long.max_by(|(_, own), (_, other)| own.total_cmp(other)).map(|(at, _)| at)
    }

    /// Returns points that divide a part into so many pieces and one.
    fn points(&self, at: usize, count: usize) -> Vec<Point> {
        let part = &self.parts[at];
        let (section, known) = (&self.sections[part.section], &self.known[part.section]);
        let partition = part.partition(section);
        let (from, to) = part.keys(section);
        let mut points = Vec::new();
        if let (None, Some(Density { of_rows: true, .. }), Some(Point { partition_key, row_key: Some(_) })) =
            (partition, part.density, part.begin())
        {
            // The last page has rows of one partition alone, so there may be no other.
            points.push(Point::after_partition(partition_key.clone()));
        }
        #[allow(clippy::cast_precision_loss, reason = "few requests are sent at the same time")]
        let (missing, pieces) = (count.saturating_sub(points.len()).max(1), (count + 1) as f64);
        // Keys such as padded numbers use a small part of all keys. Then the end is found first.
        let pages = self.rows(part).map(|rows| rows / known.page.max(1.0));
        let shrinks =
            pages.filter(|pages| part.is_open && *pages > FAR * pieces).map(|pages| pages.powf(-1.0 / pieces));
        for number in 1..=missing {
            #[allow(clippy::cast_precision_loss, reason = "few requests are sent at the same time")]
            let share = shrinks.map_or(number as f64 / pieces, |ratio| ratio.powf(number as f64));
            let key = known.alphabet(partition.is_some()).between(from, to, share);
            points.extend(key.map(|key| match partition {
                Some(partition) => Point { partition_key: partition.to_owned(), row_key: Some(key) },
                None => Point::after_partition(key),
            }));
        }
        points.sort();
        points.dedup();
        points
    }

    /// Asks for the first row after a point of a part.
    fn ask<'w, T: Send + 'w>(&mut self, at: usize, after: Point) -> BoxFuture<'w, Result<Answer<T>>> {
        let part = &self.parts[at];
        let (section, client) = (part.section, self.client.clone());
        self.known[section].asked += 1;
        let mut scans = self.sections[section].scans(Some(&after), part.to.as_ref());
        for scan in &mut scans {
            *scan = Scan { page: 1, select: Some([].as_slice().into()), filter: None, ..scan.clone() };
        }
        Box::pin(async move {
            for scan in scans {
                let mut progress = ScanProgress::default();
                while !progress.has_ended() {
                    let rows = match client.next_page(&scan, &mut progress).await {
                        // The read of the part says so, or goes on without the slice.
                        Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) => break,
                        rows => rows?,
                    };
                    if let Some(row) = rows.get(0) {
                        return Ok(Answer::First { section, after, row: Some(Point::after(row)) });
                    }
                }
            }
            Ok(Answer::First { section, after, row: None })
        })
    }

    /// Divides the part that has a point at the point, of which the first row after it is known.
    fn divide(&mut self, section: usize, after: &Point, row: Option<Point>) {
        self.known[section].asked -= 1;
        let has_point = |part: &Part| {
            part.section == section
                && part.begin().is_none_or(|begin| begin < after)
                && part.to.as_ref().is_none_or(|to| after < to)
        };
        let Some(at) = self.parts.iter().position(has_point) else { return };
        let part = &mut self.parts[at];
        if part.state == PartState::Ending {
            return;
        }
        let (to, density, is_open) = (part.to.replace(after.clone()), part.density, part.is_open);
        part.is_shortened = part.scans.is_some();
        part.is_open &= row.is_none();
        // The row that this part begins with is after its end: it has none.
        if part.state == PartState::New && part.first.as_ref().is_some_and(|first| first > after) {
            self.parts.remove(at);
        }
        let at = self.parts.iter().position(|part| part.section == section && part.to.as_ref() == Some(after));
        if let Some(row) = row.filter(|row| to.as_ref().is_none_or(|to| row <= to)) {
            let at = at.map_or_else(|| self.before(section, after), |at| at + 1);
            self.add(at, section, Some(after.clone()), to);
            let part = &mut self.parts[at];
            // If there are rows after the last key, those of the part may well be spread evenly.
            (part.first, part.density, part.is_open) = (Some(row), density, is_open && part.to.is_some());
        }
    }

    /// Returns the position of the first part after a point of a section.
    fn before(&self, section: usize, point: &Point) -> usize {
        let is_before = |part: &Part| (part.section, part.from.as_ref()) < (section, Some(point));
        self.parts.iter().take_while(|part| is_before(part)).count()
    }
}
