//! Which slices a query reads, and in which order.

use std::{ops::Bound, sync::Arc};

use super::plan::{Plan, Reached};
use crate::{
    Result, Ticks,
    backend::{Backend, KeyRange, Scan},
    layout::{Slice, SliceInfo, TimePart},
    pacing::CONCURRENCY,
    slice_tables,
};

/// The slices of a query.
pub(crate) struct Slices {
    info: &'static SliceInfo,
    table: &'static str,
    /// The first and the last moment that the query asks for.
    from: Option<Ticks>,
    to: Option<Ticks>,
    /// Whether the newest comes first.
    descending: bool,
    /// Whether the rows of one slice all come before those of the next: not where another part of the row key decides
    /// first, whose rows are merged.
    pub(crate) in_order: bool,
}

/// What a bound of a row range says of the time.
#[derive(Clone, Copy)]
enum Side {
    From,
    To,
}

impl Slices {
    /// The slices of a plan; `None` if its table has none.
    pub(crate) fn new(plan: &Plan, reached: Reached, rows: &KeyRange) -> Option<Self> {
        let layout = plan.layout();
        let info = layout.slice.as_ref()?;
        let part = info.place(layout)?;
        let all = Self {
            info,
            table: layout.table,
            from: None,
            to: None,
            descending: part.descending,
            // A scan reads table after table.
            in_order: reached == Reached::All,
        };
        let (partition, row) = plan.keys();
        if part.in_partition {
            let digits = info.begun_by(layout, part, partition).and_then(|key| part.digits(key));
            let time = digits.and_then(|(digits, _)| part.time(digits));
            return Some(Self { from: time, to: time, ..all });
        }
        let Some(rest) = info.begun_by(layout, part, row) else { return Some(all) };
        // What the row keys begin with before the time.
        let before = &row[..row.len() - rest.len()];
        let after = After { delimiter: info.delimiter(), is_last: part.number + 1 == layout.row.len() };
        let bound = |bound: &Bound<String>, side| moment(bound, side, before, part, after);
        let (from, to) = (bound(&rows.from, Side::From), bound(&rows.to, Side::To));
        let (from, to) = if part.descending { (to, from) } else { (from, to) };
        Some(Self { from, to, in_order: true, ..all })
    }

    /// The slices, where the query names them and they are few: in the order of time.
    fn named(&self) -> Option<Vec<Slice>> {
        let (from, to) = (self.from?, self.to?);
        let (mut slices, mut next) = (Vec::new(), Some(from));
        while let Some(time) = next.filter(|time| *time <= to) {
            if slices.len() == CONCURRENCY {
                return None;
            }
            let slice = self.info.at(self.table, time);
            next = slice.end;
            slices.push(slice);
        }
        Some(slices)
    }

    /// The tables, in the order of their rows: those that the query names, whether they are there or not, or else those
    /// that are there, for one request.
    pub(crate) async fn tables(&self, backend: &Arc<dyn Backend>) -> Result<Vec<String>> {
        let mut slices = match self.named() {
            Some(slices) => slices,
            None => slice_tables::list(self.info, &**backend, self.table).await?,
        };
        let after = |slice: &Slice| self.to.is_none_or(|to| slice.start <= to);
        let before = |slice: &Slice| self.from.is_none_or(|from| slice.end.is_none_or(|end| end > from));
        slices.retain(|slice| after(slice) && before(slice));
        if self.descending {
            slices.reverse();
        }
        Ok(slices.into_iter().map(|slice| slice.table).collect())
    }

    /// The tables as they are told, and how many requests they take at least, where each takes so many.
    pub(crate) fn explained(&self, each: usize, take: Option<usize>) -> (Vec<String>, usize) {
        let Some(mut slices) = self.named() else {
            // Which there are is asked for; there may be none.
            return (vec![self.info.pattern(self.table)], 1);
        };
        if self.descending {
            slices.reverse();
        }
        // The first slice may have all that is taken.
        let least = if take.is_some() && self.in_order { slices.len().min(1) } else { slices.len() };
        (slices.into_iter().map(|slice| slice.table).collect(), least * each)
    }

    /// The stages of a query which in one table are these: `rest` of them in the slice of a cursor, or in each where
    /// they are merged, and `whole` in those after it.
    pub(crate) fn stages(
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
            // The slices of one partition stand together: of equal rows the partition decides.
            let merged = scans
                .iter()
                .flat_map(|scan| tables.iter().map(|table| Scan { table: table.clone().into(), ..scan.clone() }));
            return vec![merged.collect()];
        }
        let Some((rest, at)) = rest else { return tables.iter().map(|table| of(whole, table)).collect() };
        let at = at.unwrap_or_default();
        // The names of slices stand in the order of time.
        let is_done = |table: &str| if self.descending { table > at } else { table < at };
        let stages = tables.iter().filter(|table| !is_done(table)).flat_map(|table| {
            if table == at { rest.iter().map(|scans| of(scans, table)).collect() } else { vec![of(whole, table)] }
        });
        stages.collect()
    }
}

/// What follows the time in a row key.
#[derive(Clone, Copy)]
struct After {
    delimiter: char,
    is_last: bool,
}

/// The moment that bounds the rows; `None` if they have no bound by time.
fn moment(bound: &Bound<String>, side: Side, before: &str, part: TimePart, after: After) -> Option<Ticks> {
    let (key, included) = match bound {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => return None,
    };
    let (digits, rest) = part.digits(key.strip_prefix(before)?)?;
    let joined = rest.strip_prefix(after.delimiter);
    let digits = match side {
        // Past the delimiter there is no row of this time.
        Side::From if !rest.is_empty() && joined.is_none() => digits.checked_add(1)?,
        Side::From if rest.is_empty() && after.is_last && !included => digits.checked_add(1)?,
        Side::To if !included && (rest.is_empty() || joined == Some("")) => digits.checked_sub(1)?,
        _ => digits,
    };
    part.time(digits)
}
