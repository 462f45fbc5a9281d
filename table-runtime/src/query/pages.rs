//! Pages and streams of a query's results.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use futures_util::stream;

use super::OwnedView;
use crate::{
    Error, Result,
    read::{FoundRow, Source},
};

/// A page of a query's results, such as `Stored<Post>`, and the cursor of the next page.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PageOf<T> {
    /// Entities, in key order.
    pub entities: Vec<T>,
    /// Cursor of the next page, a text that is safe in URLs; `None` on the last page.
    pub next: Option<String>,
}

/// Results of one read, and the error with which it ended.
type ReadItems<T> = (vec::IntoIter<T>, Option<Error>);

/// Stream of a query's results, such as `Stored<Post>`: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<T> {
    table: &'static str,
    pages: Pin<Box<dyn Stream<Item = ReadItems<T>> + Send>>,
    page: ReadItems<T>,
}

impl<T: Send + 'static> Entities<T> {
    pub(super) fn new<V: OwnedView<Item = T>>(table: &'static str, source: Result<Source>) -> Self {
        // The state is `None` after an error, which ends the stream.
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

/// Adds the found row to `items` if it is a match, and returns whether it is one.
#[inline]
pub(super) fn give<V: OwnedView>(found: &FoundRow<'_>, items: &mut Vec<V::Item>) -> Result<bool> {
    V::read(found, |row| items.push(V::own(row)))
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

// Nothing pins the results, because the stream returns them by value.
impl<T> Unpin for Entities<T> {}

impl<T> fmt::Debug for Entities<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entities").field("table", &self.table).finish_non_exhaustive()
    }
}
