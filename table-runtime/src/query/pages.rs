//! Running a scan, page by page.

use std::{
    collections::VecDeque,
    fmt,
    marker::PhantomData,
    ops::Bound,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::stream;

use crate::{
    LayoutInfo, Result, RowSet, Stored, TableEntity,
    backend::{Backend, Continuation, Partitions, Scan},
    cursor::Cursor,
    entity, limits,
};

/// A page of entities, and where the next one begins.
#[derive(Clone, Debug)]
pub struct PageOf<T> {
    /// The entities, in key order.
    pub entities: Vec<Stored<T>>,
    /// The cursor of the next page, a text that is safe in addresses; `None` after the last one.
    pub next: Option<String>,
}

/// The pages of a scan, each read when it is asked for.
pub(super) struct RowPages {
    backend: Arc<dyn Backend>,
    /// What is still to be read, one after the other.
    scans: VecDeque<Scan>,
    /// Where the first of them goes on.
    from: Option<Continuation>,
    /// How many rows may still be given out by this run, and by the query in all.
    left: usize,
    taken: Option<usize>,
}

impl RowPages {
    pub(super) fn new(backend: Arc<dyn Backend>, scan: Scan, take: Option<usize>) -> Self {
        Self { backend, scans: [scan].into(), from: None, left: take.unwrap_or(usize::MAX), taken: take }
    }

    /// These pages, of keys alone.
    pub(super) fn without_properties(mut self) -> Self {
        self.scans.iter_mut().for_each(|scan| scan.select = Some([].as_slice().into()));
        self
    }

    /// The next rows, at least one; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<RowSet>> {
        while self.left > 0 {
            let Some(scan) = self.scans.front_mut() else { break };
            scan.page = u32::try_from(self.left).unwrap_or(u32::MAX).min(limits::PAGE);
            let page = self.backend.query(scan, self.from.as_ref()).await?;
            self.from = page.next;
            if self.from.is_none() {
                self.scans.pop_front();
            }
            self.left = self.left.saturating_sub(page.rows.len());
            self.taken = self.taken.map(|taken| taken.saturating_sub(page.rows.len()));
            // An empty page with a continuation is legal.
            if !page.rows.is_empty() {
                return Ok(Some(page.rows));
            }
        }
        Ok(None)
    }

    fn has_more(&self) -> bool {
        !self.scans.is_empty() && self.taken != Some(0)
    }
}

/// One page of a query, where its cursor says.
pub(super) struct OnePage {
    pages: RowPages,
    /// What the cursors of this query are known by.
    query: u64,
}

impl OnePage {
    /// The first `size` rows of these pages, or those after the cursor.
    pub(super) fn new(
        layout: &'static LayoutInfo,
        mut pages: RowPages,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<Self> {
        let query = pages.scans.front().map_or(0, |scan| Cursor::query(layout, scan));
        if let Some(cursor) = cursor {
            let cursor = Cursor::parse(cursor, query)?;
            pages.taken = cursor.left;
            pages.scans = pages.scans.pop_front().map(|scan| after(scan, cursor)).unwrap_or_default();
        }
        pages.left = pages.taken.unwrap_or(usize::MAX).min(size);
        Ok(Self { pages, query })
    }

    /// Its rows, and the cursor of the next one.
    pub(super) async fn read(self) -> Result<(Vec<RowSet>, Option<String>)> {
        let Self { mut pages, query } = self;
        let mut page: Vec<RowSet> = Vec::new();
        while let Some(rows) = pages.next().await? {
            page.push(rows);
        }
        let next = page.last().and_then(RowSet::last).filter(|_| pages.has_more()).map(|last| {
            let (partition_key, row_key) = (last.partition_key.to_owned(), last.row_key.to_owned());
            Cursor { query, left: pages.taken, partition_key, row_key }.to_string()
        });
        Ok((page, next))
    }
}

/// What a scan has after the row of a cursor.
fn after(mut scan: Scan, cursor: Cursor) -> VecDeque<Scan> {
    let rest = match scan.partitions {
        Partitions::One(_) => None,
        // An `or` over two keys would be a scan of the table to the service: first the rest of the row's partition,
        // then the partitions after it.
        Partitions::All | Partitions::After(_) => {
            let rest = Scan { partitions: Partitions::After(cursor.partition_key.clone()), ..scan.clone() };
            scan.partitions = Partitions::One(cursor.partition_key);
            Some(rest)
        }
    };
    scan.rows.from = Bound::Excluded(cursor.row_key);
    [scan].into_iter().chain(rest).collect()
}

type Pages = Pin<Box<dyn Stream<Item = Result<RowSet>> + Send>>;

/// The entities of a query, as a stream: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<E> {
    table: &'static str,
    pages: Pages,
    rows: RowSet,
    /// The next one of `rows`.
    row: usize,
    entity: PhantomData<fn() -> E>,
}

impl<E> Entities<E> {
    pub(super) fn new(table: &'static str, pages: Result<RowPages>) -> Self {
        Self { table, pages: stream_of(pages), rows: RowSet::default(), row: 0, entity: PhantomData }
    }
}

fn stream_of(pages: Result<RowPages>) -> Pages {
    // The state is gone after an error, which ends the stream.
    Box::pin(stream::unfold(Some(pages), |state| async move {
        let mut pages = match state? {
            Ok(pages) => pages,
            Err(error) => return Some((Err(error), None)),
        };
        match pages.next().await {
            Ok(rows) => Some((Ok(rows?), Some(Ok(pages)))),
            Err(error) => Some((Err(error), None)),
        }
    }))
}

impl<E: TableEntity> Stream for Entities<E> {
    type Item = Result<Stored<E>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let this = &mut *self;
            if let Some(row) = this.rows.get(this.row) {
                let entity = entity::read(this.table, row);
                this.row += 1;
                if entity.is_err() {
                    this.rows = RowSet::default();
                    this.pages = Box::pin(stream::empty());
                }
                return Poll::Ready(Some(entity));
            }
            match std::task::ready!(this.pages.as_mut().poll_next(context)) {
                Some(Ok(rows)) => (this.rows, this.row) = (rows, 0),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<E> fmt::Debug for Entities<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("table", &self.table).finish_non_exhaustive()
    }
}
