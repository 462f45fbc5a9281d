//! Running a scan, page by page.

use std::{
    collections::VecDeque,
    fmt,
    ops::Bound,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use futures_util::stream;

use crate::{
    Error, LayoutInfo, Result, RowRef, Stored, TableEntity,
    backend::{Backend, Continuation, Partitions, Reader, Scan},
    cursor::Cursor,
    entity,
    key::order,
    limits,
};

/// A page of entities, and where the next one begins.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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

    /// Lends the next rows to `read`; `false` at the end, where there are none.
    pub(super) async fn next(&mut self, read: Reader<'_>) -> Result<bool> {
        while self.left > 0 {
            let Some(scan) = self.scans.front_mut() else { break };
            scan.page = u32::try_from(self.left).unwrap_or(u32::MAX).min(limits::PAGE);
            let (mut rows, left) = (0, self.left);
            let mut counted = |row: RowRef<'_>| {
                // The size of a page is asked for, and not enforced.
                if rows == left {
                    return Ok(());
                }
                rows += 1;
                read(row)
            };
            self.from = self.backend.query_with(scan, self.from.as_ref(), &mut counted).await?;
            if self.from.is_none() {
                self.scans.pop_front();
            }
            self.left -= rows;
            self.taken = self.taken.map(|taken| taken.saturating_sub(rows));
            // An empty page with a continuation is legal.
            if rows > 0 {
                return Ok(true);
            }
        }
        Ok(false)
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
        let query = pages.scans.front().map_or(0, |scan| Cursor::query(layout, scan, pages.taken));
        // The query as it goes on after a row is checked before its first page, and with the cursor's keys again.
        let (partition_key, row_key) = (String::new(), String::new());
        let first = Cursor { query, left: pages.taken, partition_key, row_key };
        let cursor = cursor.map(|cursor| Cursor::parse(cursor, query)).transpose()?;
        let resumed = cursor.is_some();
        let cursor = cursor.unwrap_or(first);
        let left = cursor.left;
        let rest = pages.scans.front().map(|scan| after(scan.clone(), cursor)).unwrap_or_default();
        rest.iter().try_for_each(limits::check_scan)?;
        if resumed {
            // No cursor allows more than its query does, whoever wrote it.
            pages.taken = pages.taken.map(|taken| left.map_or(taken, |left| left.min(taken)));
            pages.scans = rest;
        }
        pages.left = pages.taken.unwrap_or(usize::MAX).min(size);
        Ok(Self { pages, query })
    }

    /// Lends its rows to `read`, and gives the cursor of the next one.
    pub(super) async fn read(self, read: Reader<'_>) -> Result<Option<String>> {
        let Self { mut pages, query } = self;
        let (mut partition_key, mut row_key) = (String::new(), String::new());
        let mut noted = |row: RowRef<'_>| {
            row.partition_key.clone_into(&mut partition_key);
            row.row_key.clone_into(&mut row_key);
            read(row)
        };
        let mut any = false;
        while pages.next(&mut noted).await? {
            any = true;
        }
        let left = pages.taken;
        Ok((any && pages.has_more()).then(|| Cursor { query, left, partition_key, row_key }.to_string()))
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
    // A cursor is text that went through other hands: it never leads out of its query.
    let within = match &scan.rows.from {
        Bound::Included(from) => order::compare(&cursor.row_key, from).is_ge(),
        Bound::Excluded(from) => order::compare(&cursor.row_key, from).is_gt(),
        Bound::Unbounded => true,
    };
    if within {
        scan.rows.from = Bound::Excluded(cursor.row_key);
    }
    [scan].into_iter().chain(rest).collect()
}

/// The entities of one page, and the error at which it ended.
type Read<E> = (vec::IntoIter<Stored<E>>, Option<Error>);

/// The entities of a query, as a stream: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<E> {
    table: &'static str,
    pages: Pin<Box<dyn Stream<Item = Read<E>> + Send>>,
    page: Read<E>,
}

impl<E: TableEntity> Entities<E> {
    pub(super) fn new(table: &'static str, pages: Result<RowPages>) -> Self {
        // The state is gone after an error, which ends the stream.
        let pages = stream::unfold(Some(pages), move |state| async move {
            let (mut entities, pages) = (Vec::new(), state?);
            let next = async {
                let mut pages = pages?;
                let more = pages.next(&mut |row| entity::read(table, row).map(|entity| entities.push(entity))).await?;
                Ok(more.then_some(pages))
            };
            match next.await {
                Ok(pages) => Some(((entities.into_iter(), None), Some(Ok(pages?)))),
                Err(error) => Some(((entities.into_iter(), Some(error)), None)),
            }
        });
        Self { table, pages: Box::pin(pages), page: (Vec::new().into_iter(), None) }
    }
}

impl<E: TableEntity> Stream for Entities<E> {
    type Item = Result<Stored<E>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let (entities, error) = &mut self.page;
            if let Some(entity) = entities.next().map(Ok).or_else(|| error.take().map(Err)) {
                return Poll::Ready(Some(entity));
            }
            match std::task::ready!(self.pages.as_mut().poll_next(context)) {
                Some(page) => self.page = page,
                None => return Poll::Ready(None),
            }
        }
    }
}

// Entities are given out by value, and never pinned.
impl<E> Unpin for Entities<E> {}

impl<E> fmt::Debug for Entities<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("table", &self.table).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::KeyRange;

    #[test]
    fn no_cursor_leads_out_of_its_query() {
        let rows = KeyRange { from: Bound::Included("5".to_owned()), to: Bound::Excluded("7".to_owned()) };
        let scan = Scan {
            table: "Posts".into(),
            partitions: Partitions::One("Marcus".to_owned()),
            rows,
            filter: None,
            select: None,
            page: 1,
        };
        let resumed = |row_key: &str| {
            let (partition_key, row_key) = ("other".to_owned(), row_key.to_owned());
            let scans = after(scan.clone(), Cursor { query: 0, left: None, partition_key, row_key });
            scans.into_iter().map(|scan| (scan.partitions, scan.rows.from)).collect::<Vec<_>>()
        };
        let marcus = || Partitions::One("Marcus".to_owned());
        assert_eq!(resumed(""), [(marcus(), Bound::Included("5".to_owned()))]);
        assert_eq!(resumed("5"), [(marcus(), Bound::Excluded("5".to_owned()))]);
        assert_eq!(resumed("6"), [(marcus(), Bound::Excluded("6".to_owned()))]);
    }
}
