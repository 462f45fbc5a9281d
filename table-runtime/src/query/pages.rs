//! Pages and streams of a query's results.

use std::{
    fmt,
    pin::Pin,
    slice,
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream};
use table_store::{
    Error, Result,
    unstable::observe::{ObservedStream, Running},
};

use crate::{
    model::entity::{Stored, WithETag},
    read::{FoundRow, Source},
};

/// A page of a query's results, such as `Stored<Post>`, and the cursor of the next page. `for post in &page` goes through
/// the entities.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PageOf<T> {
    /// Entities, in key order.
    pub entities: Vec<T>,
    /// Cursor of the next page, a text that is safe in URLs; `None` on the last page.
    pub next: Option<String>,
}

impl<T> PageOf<Stored<T>> {
    /// Returns the page in a form that serializes each entity with its ETag: see [`Stored::with_etag`].
    pub fn with_etags(&self) -> PageOf<WithETag<'_, T>> {
        PageOf { entities: self.entities.iter().map(Stored::with_etag).collect(), next: self.next.clone() }
    }
}

impl<T> PageOf<T> {
    /// Returns the entities of the page, in key order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.entities.iter()
    }
}

/// The entities of the page.
impl<T> IntoIterator for PageOf<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entities.into_iter()
    }
}

/// References to the entities of the page.
impl<'a, T> IntoIterator for &'a PageOf<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Results of one read, and the error with which it ended.
type ReadItems<T> = (vec::IntoIter<T>, Option<Error>);

/// Stream of a query's results, such as `Stored<Post>`: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<T> {
    table: &'static str,
    pages: Pin<Box<dyn Stream<Item = ReadItems<T>> + Send>>,
    page: ReadItems<T>,
    operation: ObservedStream,
}

impl<T: Send + 'static> Entities<T> {
    pub(super) fn new(
        table: &'static str,
        running: Option<Box<Running>>,
        source: Result<Source>,
        give: impl Fn(&FoundRow<'_>, &mut Vec<T>) -> Result<bool> + Copy + Send + Sync + 'static,
    ) -> Self {
        // The state is `None` after an error, which ends the stream.
        let pages = stream::unfold(Some(source), move |state| async move {
            let (mut items, source) = (Vec::new(), state?);
            let next = async {
                let mut source = source?;
                let more = source.next(&mut |found| give(found, &mut items)).await?;
                Ok(more.then_some(source))
            };
            match next.await {
                Ok(source) => Some(((items.into_iter(), None), Some(Ok(source?)))),
                Err(error) => Some(((items.into_iter(), Some(error)), None)),
            }
        });
        Self {
            table,
            pages: Box::pin(pages),
            page: (Vec::new().into_iter(), None),
            operation: ObservedStream::new(running),
        }
    }

    /// Returns a stream of the results of one read after the other, each with the state of the next one.
    pub(super) fn in_steps<S, F>(
        table: &'static str,
        running: Option<Box<Running>>,
        begin: S,
        mut step: impl FnMut(S) -> F + Send + 'static,
    ) -> Self
    where
        S: Send + 'static,
        F: Future<Output = Result<(Vec<T>, Option<S>)>> + Send + 'static,
    {
        let pages = stream::unfold(Some(begin), move |state| {
            let read = state.map(&mut step);
            async move {
                Some(match read?.await {
                    Ok((items, next)) => ((items.into_iter(), None), next),
                    Err(error) => ((Vec::new().into_iter(), Some(error)), None),
                })
            }
        });
        Self {
            table,
            pages: Box::pin(pages),
            page: (Vec::new().into_iter(), None),
            operation: ObservedStream::new(running),
        }
    }

    /// Returns a stream of results that are read at once.
    pub(super) fn once(
        table: &'static str,
        running: Option<Box<Running>>,
        items: impl Future<Output = Result<Vec<T>>> + Send + 'static,
    ) -> Self {
        let page = stream::once(items).map(|items| match items {
            Ok(items) => (items.into_iter(), None),
            Err(error) => (Vec::new().into_iter(), Some(error)),
        });
        Self {
            table,
            pages: Box::pin(page),
            page: (Vec::new().into_iter(), None),
            operation: ObservedStream::new(running),
        }
    }
}

impl<T: Send> Entities<T> {
    /// Returns the next result, or `None` after the last one. It is the `try_next` of `futures::TryStreamExt`, without
    /// the import.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// #[derive(TableEntity)]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key]
    ///     number: u32,
    /// }
    ///
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # for number in 0..3 { tables.insert(&Post { author: "Marcus".into(), number }).await?; }
    /// let (mut posts, mut numbers) = (Post::by_key("Marcus").stream(&tables), Vec::new());
    /// while let Some(post) = posts.try_next().await? {
    ///     numbers.push(post.number);
    /// }
    /// assert_eq!(numbers, [0, 1, 2]);
    /// # Ok::<_, table_runtime::Error>(()) })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error that ends the stream.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        TryStreamExt::try_next(self).await
    }

    /// Returns the next result or error, or `None` after the last one. It is the `next` of `futures::StreamExt`, without
    /// the import; see [`try_next`](Self::try_next).
    pub async fn next(&mut self) -> Option<Result<T>> {
        StreamExt::next(self).await
    }
}

impl<T> Stream for Entities<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let (entities, error) = &mut self.page;
            if let Some(entity) = entities.next().map(Ok).or_else(|| error.take().map(Err)) {
                return Poll::Ready(Some(entity));
            }
            let Self { pages, operation, .. } = &mut *self;
            match std::task::ready!(operation.poll(|| pages.as_mut().poll_next(context), |page| page.1.as_ref())) {
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
