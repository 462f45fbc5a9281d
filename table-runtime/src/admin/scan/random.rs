//! Random pages of a section.
//!
//! The keys that are left are halved by a key in their middle, as [`Alphabet`] counts, and one of the halves is chosen by
//! chance, until a page has all that is left: first partition keys, and then row keys if one partition is left. A half
//! without rows is never chosen. So each row can be drawn, and one among few others is drawn more often than one among
//! many.

use std::ops::Bound;

use table_store::{
    Error, Result, RowSet,
    backend::{KeyRange, Partitions, Scan},
    unstable::{ScanProgress, client::Client, order},
};

use super::{
    alphabet::Alphabet,
    section::{ScannedPage, Section},
};

/// Number of rows of a page.
const ROWS: u32 = 100;

/// A section from which pages are drawn.
pub struct RandomPages {
    keys: LeftKeys,
    first: FirstRows,
}

/// The keys from which one is drawn: the partition keys of a section, or the row keys of one partition.
#[derive(Clone)]
struct LeftKeys {
    section: Section,
    alphabet: Alphabet,
    /// A key after the last one; `None` if none is known.
    end: Option<String>,
}

/// The first rows of those that are left.
#[derive(Clone)]
struct FirstRows {
    rows: RowSet,
    /// False if they are all.
    has_more: bool,
}

impl RandomPages {
    /// Reads the first page of a section, and finds about the end of its keys; `None` if it has no rows.
    pub async fn begin(client: &Client, section: Section) -> Result<Option<Self>> {
        let first = read(client, &section, &section.scan, ROWS).await?;
        let mut keys = LeftKeys { section, alphabet: Alphabet::default(), end: None };
        let Some(from) = keys.learn(&first) else { return Ok(None) };
        while first.has_more
            && let Some(middle) = keys.middle(&from)
        {
            if keys.read_from(client, Bound::Included(&middle), 1).await?.rows.is_empty() {
                keys.end = Some(middle);
            } else {
                break;
            }
        }
        Ok(Some(Self { keys, first }))
    }

    /// Draws a page by tosses of a coin.
    pub async fn draw(&self, client: &Client, mut toss: impl FnMut() -> bool + Send) -> Result<ScannedPage> {
        let mut keys = self.keys.clone();
        let mut drawn = keys.draw(client, self.first.clone(), &mut toss).await?;
        if drawn.has_more
            && !keys.of_rows()
            && let Some(partition) = drawn.only_partition()
        {
            let section = keys.section.of_partition(partition);
            let mut keys = LeftKeys { section, alphabet: Alphabet::default(), end: None };
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

impl LeftKeys {
    fn of_rows(&self) -> bool {
        matches!(self.section.scan.partitions, Partitions::One(_))
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

    async fn has_others(&self, client: &Client, after: &str) -> Result<bool> {
        Ok(!self.read_from(client, Bound::Excluded(after), 1).await?.rows.is_empty())
    }

    /// Draws a page, or a page of the only partition that is left. `first` are the first rows.
    async fn draw(
        &mut self,
        client: &Client,
        mut first: FirstRows,
        toss: &mut (impl FnMut() -> bool + Send),
    ) -> Result<FirstRows> {
        loop {
            let (Some(from), Some(last)) = (self.learn(&first), first.rows.iter().last()) else { return Ok(first) };
            let last = if self.of_rows() { last.row_key } else { last.partition_key };
            let reaches_end = self.end.as_ref().is_some_and(|end| order::compare(last, end).is_ge());
            if !first.has_more || reaches_end {
                return Ok(first);
            }
            let middle = self.middle(&from);
            // A page of one partition does not show whether there are others, nor do keys without any between them.
            let is_one = !self.of_rows() && from == last;
            let (middle, upper) = match middle {
                Some(middle) if !is_one || self.has_others(client, &from).await? => {
                    let upper = self.read_from(client, Bound::Included(&middle), ROWS).await?;
                    (middle, upper)
                }
                Some(_) => return Ok(first),
                None => {
                    let after = if self.of_rows() { last } else { &from };
                    let upper = self.read_from(client, Bound::Excluded(after), ROWS).await?;
                    let Some(next) = self.learn(&upper) else { return Ok(first) };
                    (next, upper)
                }
            };
            if upper.rows.is_empty() || toss() {
                self.end = Some(middle);
            } else {
                first = upper;
            }
        }
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
