//! Going through all rows of an entity, layout after layout.

use std::{borrow::Cow, collections::VecDeque, ops::Bound, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::schema::Schema;
use crate::{
    Error, LayoutInfo, ParseCursorError, Result, RowSet,
    backend::{Backend, Continuation, KeyRange, Page, Partitions, Scan},
    key::order,
    limits, slice_tables,
};

/// All rows of some layouts, a page at a time.
pub(super) struct Sweep {
    backend: Arc<dyn Backend>,
    schema: Schema,
    /// The layouts to come; the first of them is under way.
    layouts: VecDeque<usize>,
    page: u32,
    /// What is still to be read of it; `None` before its tables are known.
    scans: Option<VecDeque<Scan>>,
    from: Option<Continuation>,
    /// The row after which the first layout goes on.
    resumed: Option<Place>,
    /// The row up to which everything was given out.
    last: Option<Place>,
    /// Whether something before it was left as it was.
    left: bool,
}

/// Where a sweep goes on: after this row of this layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    layout: usize,
    /// The table, or the slice of it.
    table: String,
    partition_key: String,
    row_key: String,
    /// Whether something before it was left as it was, which who goes on must not forget.
    left: bool,
}

/// Rows of one layout.
pub(super) struct Swept {
    pub(super) layout: usize,
    /// Their table; of a sliced entity, the slice.
    pub(super) table: Cow<'static, str>,
    pub(super) rows: RowSet,
}

impl Sweep {
    pub(super) fn new(backend: Arc<dyn Backend>, schema: Schema, layouts: impl IntoIterator<Item = usize>) -> Self {
        let layouts = layouts.into_iter().collect();
        let page = limits::PAGE;
        Self { backend, schema, layouts, page, scans: None, from: None, resumed: None, last: None, left: false }
    }

    /// Goes on after the rows that were given out when this cursor was.
    pub(super) fn resume(&mut self, cursor: &str) -> Result<(), ParseCursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| ParseCursorError::Damaged)?;
        let (table, place): (String, Place) = postcard::from_bytes(&bytes).map_err(|_| ParseCursorError::Damaged)?;
        if table != self.schema.table() || !self.layouts.contains(&place.layout) {
            return Err(ParseCursorError::OtherQuery);
        }
        while self.layouts.front().is_some_and(|layout| *layout != place.layout) {
            self.layouts.pop_front();
        }
        // A cursor is text that went through other hands: it never leads out of the layout.
        let layout = &self.schema.layouts[place.layout];
        let is_of_layout = match &layout.slice {
            Some(slice) => slice.named(layout.table, &place.table).is_some(),
            None => place.table == layout.table,
        };
        if !is_of_layout || !holds(&all_rows(layout, layout.table.into()), &place) {
            return Err(ParseCursorError::OtherQuery);
        }
        self.left = place.left;
        self.last = Some(place.clone());
        self.resumed = Some(place);
        Ok(())
    }

    /// Takes note of what is left as it was.
    pub(super) fn leave(&mut self, left: bool) {
        self.left |= left;
    }

    /// Whether anything was left as it was, by this sweep or by one that it goes on from.
    pub(super) fn left(&self) -> bool {
        self.left
    }

    /// Where to go on after what was given out; `None` before the first row.
    pub(super) fn cursor(&self) -> Option<String> {
        let place = Place { left: self.left, ..self.last.clone()? };
        let bytes = postcard::to_allocvec(&(self.schema.table(), place)).unwrap_or_default();
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// With pages of so many rows at most.
    pub(super) fn of_pages(mut self, rows: u32) -> Self {
        self.page = rows;
        self
    }

    /// Returns the scans of a layout: one for each table, of the table that the sweep goes on in the rest.
    async fn open(&mut self, layout: usize) -> Result<VecDeque<Scan>> {
        let info = &self.schema.layouts[layout];
        let mut tables: VecDeque<Cow<'static, str>> = match &info.slice {
            Some(slice) => {
                let slices = slice_tables::list(slice, &*self.backend, info.table).await?;
                slices.into_iter().map(|slice| slice.table.into()).collect()
            }
            None => VecDeque::from([info.table.into()]),
        };
        let scan = |table| Scan { page: self.page, ..all_rows(info, table) };
        let mut scans = VecDeque::new();
        if let Some(place) = self.resumed.take() {
            // The names of slices are in the order of time.
            while tables.front().is_some_and(|table| **table < *place.table) {
                tables.pop_front();
            }
            if tables.front().is_some_and(|table| **table == *place.table) {
                tables.pop_front();
                // First the rest of the row's partition, then the partitions after it: an `or` would be a table scan.
                let scan = scan(place.table.into());
                let mut rest = Scan { partitions: Partitions::One(place.partition_key.clone()), ..scan.clone() };
                rest.rows.from = Bound::Excluded(place.row_key);
                scans.push_back(rest);
                if !matches!(scan.partitions, Partitions::One(_)) {
                    scans.push_back(Scan { partitions: Partitions::After(place.partition_key), ..scan });
                }
            }
        }
        scans.extend(tables.into_iter().map(scan));
        Ok(scans)
    }

    /// The next page; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Swept>> {
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
            let page = match self.backend.query(scan, self.from.as_ref()).await {
                // The slice was dropped meanwhile.
                Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if is_slice => Page::default(),
                page => page?,
            };
            self.from = page.next;
            if let (None, Some(scans)) = (&self.from, &mut self.scans) {
                scans.pop_front();
            }
            if let Some(row) = page.rows.last() {
                let (partition_key, row_key) = (row.partition_key.to_owned(), row.row_key.to_owned());
                let left = self.left;
                self.last = Some(Place { layout, table: table.to_string(), partition_key, row_key, left });
                return Ok(Some(Swept { layout, table, rows: page.rows }));
            }
        }
        Ok(None)
    }
}

/// Whether a row that a sweep was at is one of its layout's.
fn holds(scan: &Scan, place: &Place) -> bool {
    let before = matches!(&scan.rows.from, Bound::Included(from) if order::compare(&place.row_key, from).is_lt());
    !before && !matches!(&scan.partitions, Partitions::One(own) if *own != place.partition_key)
}

/// Every row of a layout: all partitions of its table, and what its row keys begin with.
fn all_rows(layout: &LayoutInfo, table: Cow<'static, str>) -> Scan {
    let rows = if layout.row.is_empty() {
        let key = Bound::Included(layout.row_prefix.to_owned());
        KeyRange { from: key.clone(), to: key }
    } else {
        order::prefixed(layout.row_prefix)
    };
    let partitions = match layout.partition {
        [] => Partitions::One(layout.partition_prefix.to_owned()),
        _ => Partitions::All,
    };
    Scan { table, partitions, rows, filter: None, select: None, page: limits::PAGE }
}
