//! Slices that a query reads, and their order.

use std::{ops::Bound, sync::Arc};

use table_model::{
    Slice, SliceInfo,
    unstable::layout::{TimePart, slice},
};
use table_store::{
    Result, Ticks,
    backend::{BackendExt, KeyRange, Scan},
    unstable::client::Client,
};

use crate::{
    client::pacing::CONCURRENCY,
    read::plan::{Plan, ReachedPartitions},
};

/// Slices of a query.
pub struct Slices {
    info: &'static SliceInfo,
    table: &'static str,
    /// First moment that the query asks for.
    from: Option<Ticks>,
    /// Last moment that the query asks for.
    to: Option<Ticks>,
    /// True if the newest slice comes first.
    descending: bool,
    /// True if all rows of one slice come before those of the next. False if a part of the row key before the time
    /// decides the order; then the rows of the slices are merged.
    pub in_order: bool,
}

/// End of a row range: the lower or the upper bound.
#[derive(Clone, Copy)]
enum Side {
    From,
    To,
}

impl Slices {
    /// Returns the slices of a plan; `None` if its table is not sliced.
    pub fn new(plan: &Plan, reached: ReachedPartitions, rows: &KeyRange) -> Option<Self> {
        let layout = plan.layout();
        let info = layout.slice.as_ref()?;
        let part = TimePart::of(info, layout)?;
        let all = Self {
            info,
            table: &layout.table,
            from: None,
            to: None,
            descending: part.descending,
            // A scan of all partitions reads one table after the other.
            in_order: matches!(reached, ReachedPartitions::Range | ReachedPartitions::All),
        };
        let (partition, row) = plan.keys();
        if part.in_partition {
            let digits = part.begun_by(layout, partition).and_then(|key| part.digits(key));
            let time = digits.and_then(|(digits, _)| part.time(digits));
            return Some(Self { from: time, to: time, ..all });
        }
        let Some(rest) = part.begun_by(layout, row) else { return Some(all) };
        // The beginning of the row keys, up to the time.
        let before = &row[..row.len() - rest.len()];
        let after =
            TimeSuffix { delimiter: layout.separator.unwrap_or('_'), is_last: part.number + 1 == layout.row.len() };
        let bound = |bound: &Bound<String>, side| moment(bound, side, before, part, after);
        let (from, to) = (bound(&rows.from, Side::From), bound(&rows.to, Side::To));
        let (from, to) = if part.descending { (to, from) } else { (from, to) };
        Some(Self { from, to, in_order: true, ..all })
    }

    /// Returns the slices between the query's two moments, in the order of time; `None` if the query does not have both
    /// moments, or there are many slices.
    fn named(&self) -> Option<Vec<Slice>> {
        let (from, to) = (self.from?, self.to?);
        let (mut slices, mut next) = (Vec::new(), Some(from));
        while let Some(time) = next.filter(|time| *time <= to) {
            if slices.len() == CONCURRENCY {
                return None;
            }
            let slice = slice::at(self.info, self.table, time);
            next = slice.end;
            slices.push(slice);
        }
        Some(slices)
    }

    /// Returns the tables in the order of their rows: those of the [named](Self::named) slices, whether they exist or
    /// not. If the slices are not named, lists the existing tables, which takes one request.
    pub async fn tables(&self, backend: &Arc<Client>) -> Result<Vec<String>> {
        let mut slices = match self.named() {
            Some(slices) => slices,
            None => existing_slices(self.info, backend, self.table).await?,
        };
        let after = |slice: &Slice| self.to.is_none_or(|to| slice.start <= to);
        let before = |slice: &Slice| self.from.is_none_or(|from| slice.end.is_none_or(|end| end > from));
        slices.retain(|slice| after(slice) && before(slice));
        if self.descending {
            slices.reverse();
        }
        Ok(slices.into_iter().map(|slice| slice.table).collect())
    }

    /// Returns the tables that `explain` shows, and the least number of requests for them, if each table takes `each`.
    pub fn explained(&self, each: usize, take: Option<usize>) -> (Vec<String>, usize) {
        let Some(mut slices) = self.named() else {
            // One request lists the tables. It may find none, and then there are no other requests.
            return (vec![slice::pattern(self.info, self.table)], 1);
        };
        if self.descending {
            slices.reverse();
        }
        // The first slice may have all rows that the limit allows.
        let least = if take.is_some() && self.in_order { slices.len().min(1) } else { slices.len() };
        (slices.into_iter().map(|slice| slice.table).collect(), least * each)
    }

    /// Returns the stages of a query over these tables. `whole` are the scans of a table that is read from its start.
    /// `rest` are the stages after a cursor, and the cursor's slice: they are read in that slice, or in every slice if
    /// the slices are merged.
    pub fn stages(
        &self,
        tables: &[String],
        whole: &[Scan],
        rest: Option<(&[Vec<Scan>], Option<&str>)>,
    ) -> Vec<Vec<Scan>> {
        let of = |scans: &[Scan], table: &str| -> Vec<Scan> {
            scans.iter().map(|scan| Scan { table: table.to_owned().into(), ..scan.clone() }).collect()
        };
        if !self.in_order {
            let (scans, _) =
                rest.map_or((whole, None), |(stages, at)| (stages.first().map_or(whole, Vec::as_slice), at));
            // Scans of one partition are adjacent, because rows with equal row keys come in the order of the scans, and
            // so in the order of their partitions.
            let merged = scans
                .iter()
                .flat_map(|scan| tables.iter().map(|table| Scan { table: table.clone().into(), ..scan.clone() }));
            return vec![merged.collect()];
        }
        let Some((rest, at)) = rest else { return tables.iter().map(|table| of(whole, table)).collect() };
        let at = at.unwrap_or_default();
        // The names of slices sort in the order of time.
        let is_done = |table: &str| if self.descending { table > at } else { table < at };
        let stages = tables.iter().filter(|table| !is_done(table)).flat_map(|table| {
            if table == at { rest.iter().map(|scans| of(scans, table)).collect() } else { vec![of(whole, table)] }
        });
        stages.collect()
    }
}

/// Text that comes after the time in a row key.
#[derive(Clone, Copy)]
struct TimeSuffix {
    delimiter: char,
    is_last: bool,
}

/// Returns the moment at which a bound limits the rows; `None` if it does not limit their time.
fn moment(bound: &Bound<String>, side: Side, before: &str, part: TimePart, after: TimeSuffix) -> Option<Ticks> {
    let (key, included) = match bound {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => return None,
    };
    let (digits, rest) = part.digits(key.strip_prefix(before)?)?;
    let after_delimiter = rest.strip_prefix(after.delimiter);
    let digits = match side {
        // The bound is beyond the delimiter after this time, so all rows in the range have another time.
        Side::From if !rest.is_empty() && after_delimiter.is_none() => digits.checked_add(1)?,
        Side::From if rest.is_empty() && after.is_last && !included => digits.checked_add(1)?,
        Side::To if !included && (rest.is_empty() || after_delimiter == Some("")) => digits.checked_sub(1)?,
        _ => digits,
    };
    part.time(digits)
}

/// Returns the existing slices of the table, oldest first.
pub async fn existing_slices(info: &SliceInfo, backend: &Client, table: &str) -> Result<Vec<Slice>> {
    let names = backend.list_tables(table).await?;
    let mut slices: Vec<_> = names.iter().filter_map(|name| slice::named(info, table, name)).collect();
    slices.sort_by_key(|slice| slice.start);
    Ok(slices)
}
