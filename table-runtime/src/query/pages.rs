//! Pages and streams of a query's results.

use std::{
    fmt,
    iter::Peekable,
    ops::Index,
    pin::Pin,
    slice,
    task::{Context, Poll},
    vec,
};

use futures_core::Stream;
use futures_util::{StreamExt, TryStreamExt, stream};
use table_store::{
    Error, Result,
    unstable::observe::{self, ObservedStream, Running},
};

use crate::{
    client::stored::{Stored, WithETag},
    read::{FoundRow, OnUnreadable, Position, Skipping, Source, Visit},
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
    /// Converts the entities, and keeps the cursor of the next page.
    ///
    /// ```
    /// # use table_runtime::{Result, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] id: u32, title: String }
    /// # async fn example(tables: &Tables) -> Result<()> {
    /// let titles = Post::by_key("Marcus").page(tables, 20, None).await?.map(|post| post.title.clone());
    /// # assert!(titles.is_empty());
    /// # Ok(()) }
    /// # futures::executor::block_on(async {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create::<Post>().await?;
    /// # example(&tables).await
    /// # })?;
    /// # Ok::<(), table_runtime::Error>(())
    /// ```
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> PageOf<U> {
        PageOf { entities: self.entities.into_iter().map(convert).collect(), next: self.next }
    }

    /// Returns the number of entities of the page.
    pub const fn len(&self) -> usize {
        self.entities.len()
    }

    /// Returns true if the page has no entity, as that of a query that finds none.
    pub const fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Returns the entities of the page, in key order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.entities.iter()
    }
}

/// The entity at this position of the page. Panics if the page has fewer entities, as a `Vec` does.
impl<T> Index<usize> for PageOf<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.entities[at]
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

/// Results of one step of a stream, and the errors of rows that could not be read, in the order of the rows.
pub(super) struct StreamStep<T> {
    pub items: Vec<T>,
    /// Errors, each with the number of results before it.
    errors: Vec<(usize, Error)>,
}

impl<T> Default for StreamStep<T> {
    fn default() -> Self {
        Self { items: Vec::new(), errors: Vec::new() }
    }
}

/// Visits the rows of a step: `give` adds the result of a row.
pub(super) struct StepRows<'a, T, G> {
    pub step: &'a mut StreamStep<T>,
    pub give: G,
}

impl<T: Send, G: FnMut(&FoundRow<'_>, &mut Vec<T>) -> Result<bool> + Send> Visit for StepRows<'_, T, G> {
    fn found(&mut self, row: &FoundRow<'_>) -> Result<bool> {
        (self.give)(row, &mut self.step.items)
    }

    fn unreadable(&mut self, error: Error, _: Position) -> Result<()> {
        observe::unreadable();
        self.step.errors.push((self.step.items.len(), error));
        Ok(())
    }
}

/// Results and errors of one step that are still to be returned.
struct Pending<T> {
    items: vec::IntoIter<T>,
    /// Number of results that were returned.
    returned: usize,
    errors: Peekable<vec::IntoIter<(usize, Error)>>,
    /// The error that ends the stream.
    last: Option<Error>,
}

impl<T> Pending<T> {
    fn new(StreamStep { items, errors }: StreamStep<T>, last: Option<Error>) -> Self {
        Self { items: items.into_iter(), returned: 0, errors: errors.into_iter().peekable(), last }
    }

    fn next(&mut self) -> Option<Result<T>> {
        if let Some((_, error)) = self.errors.next_if(|(position, _)| *position == self.returned) {
            return Some(Err(error));
        }
        self.returned += 1;
        self.items.next().map(Ok).or_else(|| self.last.take().map(Err))
    }
}

/// Stream of a query's results, such as `Stored<Post>`: see [`Rows::stream`](super::Rows::stream).
#[must_use = "a stream does nothing until it is polled"]
pub struct Entities<T> {
    table: &'static str,
    steps: Pin<Box<dyn Stream<Item = Pending<T>> + Send>>,
    step: Pending<T>,
    operation: ObservedStream,
}

impl<T: Send + 'static> Entities<T> {
    /// Returns the stream of what a query finds. It goes on after the error of a row, unless `skip` takes the error.
    pub(super) fn new(
        table: &'static str,
        running: Option<Box<Running>>,
        source: Result<Source>,
        give: impl Fn(&FoundRow<'_>, &mut Vec<T>) -> Result<bool> + Copy + Send + Sync + 'static,
        skip: Option<OnUnreadable<'static>>,
    ) -> Self {
        Self::in_steps(table, running, (source, skip), move |(source, mut skip)| async move {
            let mut step = StreamStep::default();
            let next = async {
                let mut source = source?;
                let more = if skip.is_some() {
                    let read = |found: &FoundRow<'_>| give(found, &mut step.items);
                    source.next(&mut Skipping { read, skip: &mut skip }).await?
                } else {
                    source.next(&mut StepRows { step: &mut step, give }).await?
                };
                Ok(more.then_some((Ok(source), skip)))
            };
            let next = next.await;
            (step, next)
        })
    }

    /// Returns a stream of the results of one step after the other. `take_step` returns the results of a step, and the state of
    /// the next step or the error that ends the stream.
    pub(super) fn in_steps<S, F>(
        table: &'static str,
        running: Option<Box<Running>>,
        begin: S,
        mut take_step: impl FnMut(S) -> F + Send + 'static,
    ) -> Self
    where
        S: Send + 'static,
        F: Future<Output = (StreamStep<T>, Result<Option<S>>)> + Send + 'static,
    {
        let steps = stream::unfold(Some(begin), move |state| {
            let step = state.map(&mut take_step);
            async move {
                let (step, next) = step?.await;
                let (next, error) = match next {
                    Ok(next) => (next, None),
                    Err(error) => (None, Some(error)),
                };
                Some((Pending::new(step, error), next))
            }
        });
        let (step, operation) = (Pending::new(StreamStep::default(), None), ObservedStream::new(running));
        Self { table, steps: Box::pin(steps), step, operation }
    }

    /// Returns a stream of results that are read at once.
    pub(super) fn once(
        table: &'static str,
        running: Option<Box<Running>>,
        items: impl Future<Output = Result<Vec<T>>> + Send + 'static,
    ) -> Self {
        Self::in_steps(table, running, items, |items| async {
            match items.await {
                Ok(items) => (StreamStep { items, errors: Vec::new() }, Ok(None)),
                Err(error) => (StreamStep::default(), Err(error)),
            }
        })
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
    /// Returns the error of a row that cannot be read, after which the next call goes on, or the error that ends the stream.
    pub async fn try_next(&mut self) -> Result<Option<T>> {
        TryStreamExt::try_next(self).await
    }

    /// Returns all results, or the first error. It is the `try_collect` of `futures::TryStreamExt`, without the import; without
    /// a stream, [`Rows::all`](super::Rows::all) does the same.
    ///
    /// # Errors
    /// Returns the first error.
    pub async fn try_collect<C: Default + Extend<T>>(self) -> Result<C> {
        TryStreamExt::try_collect(self).await
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
            let Self { steps, step, operation, .. } = &mut *self;
            if let Some(result) = step.next() {
                return Poll::Ready(Some(result));
            }
            match std::task::ready!(operation.poll(|| steps.as_mut().poll_next(context), |step| step.last.as_ref())) {
                Some(next) => *step = next,
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
