//! Pages and streams of what a query finds.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use futures_util::stream;

use super::{
    View,
    source::{FoundReader, Source},
    view::Found,
};
use crate::{Error, LayoutInfo, Result, cursor::Cursor};

/// A page of what a query gives out, such as `Stored<Post>`, and where the next one begins.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PageOf<T> {
    /// The entities, in key order.
    pub entities: Vec<T>,
    /// The cursor of the next page, a text that is safe in addresses; `None` after the last one.
    pub next: Option<String>,
}

/// One page of a query, where its cursor says.
pub(super) struct OnePage {
    source: Source,
    /// What the cursors of this query are known by.
    query: u64,
}

impl OnePage {
    /// The first `size` that are found, or those after the cursor.
    pub(super) fn new(
        layout: &'static LayoutInfo,
        mut source: Source,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<Self> {
        let query = source.query(layout);
        let cursor = cursor.map(|cursor| Cursor::parse(cursor, query)).transpose()?;
        // The query as it goes on after a row is checked before its first page, and with the cursor's keys again.
        let (partition_key, row_key) = (String::new(), String::new());
        let first = Cursor { query, left: source.pages.taken, partition_key, row_key, listed: None, slice: None };
        source.check_after(cursor.as_ref().unwrap_or(&first))?;
        if let Some(cursor) = cursor {
            source.resume(cursor);
        }
        source.pages.left = source.pages.taken.unwrap_or(usize::MAX).min(size);
        Ok(Self { source, query })
    }

    /// Lends what it has to `read`, and gives the cursor of the next one.
    pub(super) async fn read(self, read: FoundReader<'_>) -> Result<Option<String>> {
        let Self { mut source, query } = self;
        let (mut partition_key, mut row_key, mut listed) = (String::new(), String::new(), None);
        let (is_sliced, mut slice) = (source.is_sliced(), None);
        let mut noted = |found: Found<'_>| {
            let given = read(found)?;
            if given {
                let (partition, row) = found.position();
                partition.clone_into(&mut partition_key);
                row.clone_into(&mut row_key);
                listed = found.listed().map(str::to_owned);
                slice = is_sliced.then(|| found.table.to_owned());
            }
            Ok(given)
        };
        let mut any = false;
        while source.next(&mut noted).await? {
            any = true;
        }
        let left = source.pages.taken;
        let next = Cursor { query, left, partition_key, row_key, listed, slice };
        Ok((any && source.has_more()).then(|| next.to_string()))
    }
}

/// What was found at once, and the error at which it ended.
type Read<T> = (vec::IntoIter<T>, Option<Error>);

/// What a query finds, such as `Stored<Post>`, as a stream: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<T> {
    table: &'static str,
    pages: Pin<Box<dyn Stream<Item = Read<T>> + Send>>,
    page: Read<T>,
}

impl<T: Send + 'static> Entities<T> {
    pub(super) fn new<V: View<Item = T>>(table: &'static str, source: Result<Source>) -> Self {
        // The state is gone after an error, which ends the stream.
        let pages = stream::unfold(Some(source), move |state| async move {
            let (mut items, source) = (Vec::new(), state?);
            let next = async {
                let mut source = source?;
                let more = source.next(&mut |found| give::<V>(found, &mut items)).await?;
                Ok(more.then_some(source))
            };
            match next.await {
                Ok(source) => Some(((items.into_iter(), None), Some(Ok(source?)))),
                Err(error) => Some(((items.into_iter(), Some(error)), None)),
            }
        });
        Self { table, pages: Box::pin(pages), page: (Vec::new().into_iter(), None) }
    }
}

/// Adds what was found, if it is a match.
pub(super) fn give<V: View>(found: Found<'_>, items: &mut Vec<V::Item>) -> Result<bool> {
    let item = V::read(found)?;
    let given = item.is_some();
    items.extend(item);
    Ok(given)
}

impl<T> Stream for Entities<T> {
    type Item = Result<T>;

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

// What is given out by value is never pinned.
impl<T> Unpin for Entities<T> {}

impl<T> fmt::Debug for Entities<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("table", &self.table).finish_non_exhaustive()
    }
}
