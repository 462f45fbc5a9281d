//! Random pages of a section.
//!
//! The keys that remain are halved again and again, at a key about in their middle, and chance chooses one of the halves. A
//! page is drawn as soon as it has all rows that remain. Partition keys are halved first. If one partition remains that has
//! more than a page, its row keys are halved next.
//!
//! A half without rows is never chosen, so each row can be drawn. A row among few others is drawn more often than one among
//! many, and a large partition as often as a small one.

use std::{collections::HashMap, ops::Bound, sync::Mutex};

use table_store::{
    Error, Result, RowSet,
    backend::{KeyRange, Partitions, Scan},
    unstable::{ScanProgress, client::Client, order},
};

use super::{
    alphabet::Alphabet,
    section::{ScannedPage, Section},
};
use crate::client::tables::lock;

/// Number of rows of a page.
const ROWS: u32 = 100;
/// Largest number of requests that look for the characters with which keys go on after what all have in common.
const CHARACTERS: usize = 40;
/// A text after those of all characters that keys usually have.
const LAST: char = '\u{FFFF}';

/// A section from which pages are drawn.
pub struct RandomPages {
    keys: RemainingKeys,
    first: FirstRows,
    /// The row keys of the large partitions that were drawn. What is known of them follows from the rows alone, so a sample
    /// can be repeated.
    partitions: Mutex<HashMap<String, RemainingKeys>>,
}

/// The keys from which one is drawn: the partition keys of a section, or the row keys of one partition.
#[derive(Clone)]
struct RemainingKeys {
    section: Section,
    alphabet: Alphabet,
    /// A key after the last one; `None` if none is known.
    end: Option<String>,
}

/// The first rows of those that remain.
#[derive(Clone)]
struct FirstRows {
    rows: RowSet,
    /// True if there may be others.
    has_more: bool,
}

impl RandomPages {
    /// Reads the first page of a section, and finds about the end of its keys; `None` if it has no rows.
    pub async fn begin(client: &Client, section: Section) -> Result<Option<Self>> {
        let first = read(client, &section, &section.scan, ROWS).await?;
        if first.rows.is_empty() {
            return Ok(None);
        }
        let keys = RemainingKeys::find(client, section, &first).await?;
        Ok(Some(Self { keys, first, partitions: Mutex::default() }))
    }

    /// Draws a page by tosses of a coin.
    pub async fn draw(&self, client: &Client, mut toss: impl FnMut() -> bool + Send) -> Result<ScannedPage> {
        let mut keys = self.keys.clone();
        let mut drawn = keys.draw(client, self.first.clone(), &mut toss).await?;
        if drawn.has_more
            && !keys.of_rows()
            && let Some(partition) = drawn.only_partition()
        {
            let known = lock(&self.partitions).get(&partition).cloned();
            let mut keys = if let Some(keys) = known {
                keys
            } else {
                let section = keys.section.of_partition(partition.clone());
                let keys = RemainingKeys::find(client, section, &drawn).await?;
                lock(&self.partitions).insert(partition, keys.clone());
                keys
            };
            drawn = keys.draw(client, drawn, &mut toss).await?;
        }
        Ok(ScannedPage::whole(&self.keys.section, drawn.rows))
    }
}

impl FirstRows {
    /// Returns the partition of all of the rows, if there is only one.
    fn only_partition(&self) -> Option<String> {
        let (first, last) = (self.rows.get(0)?, self.rows.iter().last()?);
        (first.partition_key == last.partition_key).then(|| first.partition_key.to_owned())
    }
}

impl RemainingKeys {
    /// Returns the keys of a section whose first rows are known. Finds about their end, and the characters with which they go
    /// on after what all have in common.
    async fn find(client: &Client, section: Section, first: &FirstRows) -> Result<Self> {
        let mut keys = Self { section, alphabet: Alphabet::default(), end: None };
        let (Some(from), Some(last), true) = (keys.learn(first), keys.last(first), first.has_more) else {
            return Ok(keys);
        };
        // What the first rows have in common, others may have too.
        let mut common: Vec<char> =
            from.chars().zip(last.chars()).take_while(|(own, other)| own == other).map(|(own, _)| own).collect();
        let mut step = 1;
        while !common.is_empty() {
            let end: String = common.iter().copied().chain([LAST]).collect();
            if keys.read_from(client, Bound::Included(&end), 1).await?.rows.is_empty() {
                keys.end = Some(end);
                break;
            }
            common.truncate(common.len().saturating_sub(step));
            step *= 2;
        }
        while let Some(middle) = keys.middle(&from) {
            if !keys.read_from(client, Bound::Included(&middle), 1).await?.rows.is_empty() {
                break;
            }
            keys.end = Some(middle);
        }
        let (mut after, beginning) = (from, common.len());
        for _ in 0..CHARACTERS {
            let end: String = after.chars().take(beginning + 1).chain([LAST]).collect();
            let others = keys.read_from(client, Bound::Included(&end), 1).await?;
            let Some(next) = keys.learn(&others).filter(|next| order::compare(next, &after).is_gt()) else { break };
            after = next;
        }
        Ok(keys)
    }

    fn of_rows(&self) -> bool {
        matches!(self.section.scan.partitions, Partitions::One(_))
    }

    /// Returns the last key of rows.
    fn last(&self, rows: &FirstRows) -> Option<String> {
        let last = rows.rows.iter().last()?;
        Some(if self.of_rows() { last.row_key } else { last.partition_key }.to_owned())
    }

    /// Notes the keys of rows, and returns the first one.
    fn learn(&mut self, rows: &FirstRows) -> Option<String> {
        let of_rows = self.of_rows();
        let mut keys = rows.rows.iter().map(|row| if of_rows { row.row_key } else { row.partition_key }).peekable();
        let first = (*keys.peek()?).to_owned();
        // The first page has few of the characters that others have.
        self.alphabet.learn_kinds(&first);
        keys.for_each(|key| self.alphabet.learn(key));
        Some(first)
    }

    fn middle(&self, from: &str) -> Option<String> {
        self.alphabet.between(from, self.end.as_deref(), 0.5)
    }

    /// Reads the first rows from a key on.
    async fn read_from(&self, client: &Client, from: Bound<&str>, rows: u32) -> Result<FirstRows> {
        let scan = &self.section.scan;
        let to = self.end.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let range = KeyRange { from: from.map(str::to_owned), to };
        let scan = match &scan.partitions {
            Partitions::One(_) => scan.rows.and(&range).map(|rows| Scan { rows, ..scan.clone() }),
            Partitions::Range(all) => {
                all.and(&range).map(|own| Scan { partitions: Partitions::Range(own), ..scan.clone() })
            }
        };
        match scan {
            Some(scan) => read(client, &self.section, &scan, rows).await,
            None => Ok(FirstRows { rows: RowSet::default(), has_more: false }),
        }
    }

    /// Draws a page. `first` are the first rows of those that remain. If one partition remains, the page is its first one.
    async fn draw(
        &mut self,
        client: &Client,
        mut first: FirstRows,
        toss: &mut (impl FnMut() -> bool + Send),
    ) -> Result<FirstRows> {
        loop {
            let (Some(from), Some(last)) = (self.learn(&first), self.last(&first)) else { return Ok(first) };
            if !first.has_more || self.is_end(&last) {
                return Ok(first);
            }
            let after = Bound::Excluded(if self.of_rows() { &*last } else { &from });
            let others = self.read_from(client, after, ROWS).await?;
            let (Some(next), Some(last)) = (self.learn(&others), self.last(&others)) else { return Ok(first) };
            loop {
                if !others.has_more || self.is_end(&last) {
                    return Ok(if toss() { first } else { others });
                }
                let middle = self.middle(&next).unwrap_or_else(|| next.clone());
                let upper = self.read_from(client, Bound::Included(&middle), ROWS).await?;
                if upper.rows.is_empty() || toss() {
                    let is_first = middle == next;
                    self.end = Some(middle);
                    if is_first {
                        return Ok(first);
                    }
                } else {
                    first = upper;
                    break;
                }
            }
        }
    }

    /// Checks whether a key is not before the end.
    fn is_end(&self, key: &str) -> bool {
        self.end.as_ref().is_some_and(|end| order::compare(key, end).is_ge())
    }
}

/// Reads the first rows of a scan.
async fn read(client: &Client, section: &Section, scan: &Scan, rows: u32) -> Result<FirstRows> {
    let (scan, mut progress) = (Scan { page: rows, ..scan.clone() }, ScanProgress::default());
    loop {
        let rows = match client.next_page(&scan, &mut progress).await {
            // The slice was dropped meanwhile.
            Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if section.is_slice => {
                return Ok(FirstRows { rows: RowSet::default(), has_more: false });
            }
            rows => rows?,
        };
        let has_more = !progress.has_ended();
        if !rows.is_empty() || !has_more {
            return Ok(FirstRows { rows, has_more });
        }
    }
}
