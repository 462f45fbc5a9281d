//! Queries whose types do not depend on their keys.

use std::{borrow::Cow, fmt};

use table_store::{
    Error, Result,
    backend::BoxFuture,
    error::ParseCursorError,
    unstable::observe::{Running, observed},
};

use super::{
    Entities, Explain, OwnedView, PageOf, SkipUnreadable,
    point::{self, IsMatch},
    view::is_match,
};
use crate::{
    client::tables::Tables,
    model::{
        codec::is_unreadable,
        cost::{self, Cost as _},
        returned::ReturnsNothingOfRow,
    },
    read::{FoundRow, OnUnreadable, OnePage, Plan, ReachedPartitions, Source, skip_or_fail},
};

/// A query whose type has only its results, such as `BoxedRows<Stored<Post>>`: a function can return it, a struct can
/// hold it, and the branches of an `if` or a `match` can be different queries. [`Rows::boxed`](crate::Rows::boxed) and
/// [`Point::boxed`](crate::Point::boxed) make one.
///
/// It runs with the same functions as the query that it was made from, and sends the same requests. As it no longer
/// narrows keys and has no columns, box it last. Its type does not show the cost, so that it is no
/// [`Query`](crate::Query); [`explain`](Self::explain) does.
///
/// ```
/// use table_runtime::{BoxedRows, Result, Stored, TableEntity, Tables};
///
/// #[derive(TableEntity)]
/// struct Post {
///     #[partition_key]
///     author: String,
///     #[row_key]
///     number: u32,
///     #[index(title, lowercase, same_partition)]
///     title: String,
///     likes: u32,
///     url: Option<String>,
/// }
///
/// /// Returns the posts of an author, by title or by number, and only those that are liked if `liked` is true.
/// fn posts(author: &str, by_title: bool, liked: bool) -> BoxedRows<Stored<Post>> {
///     match (by_title, liked) {
///         (true, _) => Post::by_title(author).boxed(),
///         (false, true) => Post::by_key(author).filter(|post| post.likes.ge(1)).boxed(),
///         (false, false) => Post::by_key(author).boxed(),
///     }
/// }
///
/// # futures::executor::block_on(async {
/// let tables = Tables::in_memory()?;
/// tables.create::<Post>().await?;
/// for (number, title) in [(1, "Sums"), (2, "Keys")] {
///     let (author, title) = ("Marcus".into(), title.into());
///     tables.insert(&Post { author, number, title, likes: 0, url: None }).await?;
/// }
/// let first = posts("Marcus", true, false).first(&tables).await?;
/// assert_eq!(first.map(|post| post.number), Some(2));
/// assert_eq!(posts("Marcus", false, true).count(&tables).await?, 0);
/// # Ok::<(), table_runtime::Error>(())
/// # }).unwrap();
/// ```
#[must_use = "a query does nothing until it is run, with `all`, `first`, `stream`, `page` or `count`"]
pub struct BoxedRows<T> {
    plan: Plan,
    reads: Reading,
    /// Adds a found row to the results if it is a match, and returns whether it is one.
    give: Give<T>,
    is_match: IsMatch,
}

/// Greatest number of entities for which a result allocates memory before it has read any.
const INITIAL_CAPACITY: usize = 128;

type Give<T> = fn(&FoundRow<'_>, &mut Vec<T>) -> Result<bool>;

/// Rows that a query reads.
#[derive(Clone, Copy)]
enum Reading {
    /// The row with both keys of the plan.
    Point,
    /// The rows in these partitions, with the name of their cost class.
    Rows(ReachedPartitions, fn() -> Cow<'static, str>),
}

impl<T: Send + 'static> BoxedRows<T> {
    pub(super) fn of_rows<V: OwnedView<Item = T>>(
        plan: Plan,
        reached: ReachedPartitions,
        cost: fn() -> Cow<'static, str>,
    ) -> Self {
        Self { plan, reads: Reading::Rows(reached, cost), give: give::<V>, is_match: is_match::<V> }
    }

    pub(super) fn of_point<V: OwnedView<Item = T>>(plan: Plan) -> Self {
        Self { plan, reads: Reading::Point, give: give::<V>, is_match: is_match::<V> }
    }

    /// Limits the query to `count` rows in all.
    pub fn take(mut self, count: usize) -> Self {
        self.plan.take = Some(self.plan.take.map_or(count, |before| before.min(count)));
        self
    }

    /// Reads all rows: see [`Rows::all`](crate::Rows::all).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all).
    pub fn all(self, tables: &Tables) -> BoxFuture<'_, Result<Vec<T>>> {
        self.all_or_skip(tables, None)
    }

    pub(super) fn all_or_skip<'t>(
        self,
        tables: &'t Tables,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<Vec<T>>> {
        let running = self.begin(tables, "all");
        Box::pin(observed(running, async move {
            let mut items = Vec::with_capacity(self.plan.take.unwrap_or(0).min(INITIAL_CAPACITY));
            self.read(tables, &mut items, skip).await?;
            Ok(items)
        }))
    }

    /// Reads the first row; `None` if there is none.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all).
    pub fn first(self, tables: &Tables) -> BoxFuture<'_, Result<Option<T>>> {
        self.first_or_skip(tables, None)
    }

    pub(super) fn first_or_skip<'t>(
        self,
        tables: &'t Tables,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<Option<T>>> {
        let running = self.begin(tables, "first");
        let first = self.take(1);
        Box::pin(observed(running, async move {
            let mut items = Vec::new();
            first.read(tables, &mut items, skip).await?;
            Ok(items.pop())
        }))
    }

    /// Returns a stream of the rows: see [`Rows::stream`](crate::Rows::stream).
    pub fn stream(self, tables: &Tables) -> Entities<T> {
        self.stream_or_skip(tables, None)
    }

    pub(super) fn stream_or_skip(self, tables: &Tables, skip: Option<OnUnreadable<'static>>) -> Entities<T> {
        let (table, running) = (self.plan.table(), self.begin(tables, "stream"));
        match self.reads {
            Reading::Rows(reached, _) => {
                Entities::new(table, running, Source::new(&self.plan, tables, reached), self.give, skip)
            }
            Reading::Point => {
                let tables = tables.clone();
                Entities::once(table, running, async move {
                    let mut items = Vec::new();
                    self.read(&tables, &mut items, skip).await?;
                    Ok(items)
                })
            }
        }
    }

    /// Reads the next `size` rows: see [`Rows::page`](crate::Rows::page). The cursors are those of the query that was
    /// boxed.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::page`](crate::Rows::page).
    pub fn page<'t>(self, tables: &'t Tables, size: usize, cursor: Option<&str>) -> BoxFuture<'t, Result<PageOf<T>>> {
        self.page_or_skip(tables, size, cursor, None)
    }

    pub(super) fn page_or_skip<'t>(
        mut self,
        tables: &'t Tables,
        size: usize,
        cursor: Option<&str>,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<PageOf<T>>> {
        let running = self.begin(tables, "page");
        if size == 0 {
            self.plan.refuse("a page of 0 rows has no next one".to_owned());
        }
        let Reading::Rows(reached, _) = self.reads else {
            // A point has no second page, so no cursor is one of its own.
            let other = cursor.map(|_| Error::from(ParseCursorError::OtherQuery));
            return Box::pin(observed(running, async move {
                let mut entities = Vec::new();
                match other {
                    Some(error) => Err(error),
                    None => self.read(tables, &mut entities, skip).await.map(|()| PageOf { entities, next: None }),
                }
            }));
        };
        let source = Source::new(&self.plan, tables, reached);
        let page = source.and_then(|source| OnePage::new(self.plan.layout(), source, size, cursor));
        Box::pin(observed(running, async move {
            let mut entities = Vec::with_capacity(size.min(INITIAL_CAPACITY));
            let next = page?.read(&mut |found| (self.give)(found, &mut entities), skip).await?;
            Ok(PageOf { entities, next })
        }))
    }

    /// Calls `each` with every row, in key order: see [`Rows::for_each`](crate::Rows::for_each).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all). Rows before the one that failed were passed to the
    /// closure.
    pub fn for_each<'t, F, R>(self, tables: &'t Tables, each: F) -> BoxFuture<'t, Result<()>>
    where
        F: FnMut(T) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        self.for_each_or_skip(tables, each, None)
    }

    pub(super) fn for_each_or_skip<'t, F, R>(
        self,
        tables: &'t Tables,
        mut each: F,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<()>>
    where
        F: FnMut(T) -> R + Send + 't,
    {
        let mut each = move |item| {
            each(item);
        };
        let running = self.begin(tables, "for_each");
        Box::pin(observed(running, async move {
            let mut items = Vec::new();
            let Reading::Rows(reached, _) = self.reads else {
                self.read(tables, &mut items, skip).await?;
                items.into_iter().for_each(each);
                return Ok(());
            };
            let read = |found: &FoundRow<'_>| {
                let is_match = (self.give)(found, &mut items)?;
                items.drain(..).for_each(&mut each);
                Ok(is_match)
            };
            Source::new(&self.plan, tables, reached)?.read_all(read, skip).await
        }))
    }

    /// Counts the rows: see [`Rows::count`](crate::Rows::count).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all).
    pub fn count(self, tables: &Tables) -> BoxFuture<'_, Result<usize>> {
        self.count_or_skip(tables, None)
    }

    pub(super) fn count_or_skip<'t>(
        self,
        tables: &'t Tables,
        skip: Option<OnUnreadable<'t>>,
    ) -> BoxFuture<'t, Result<usize>> {
        let running = self.begin(tables, "count");
        Box::pin(observed(running, async move {
            let Reading::Rows(reached, _) = self.reads else {
                let counts = self.plan.take != Some(0);
                let exists =
                    counts && or_skip(&self.plan, point::exists(&self.plan, tables, self.is_match), skip).await?;
                return Ok(usize::from(exists));
            };
            Source::new(&self.plan, tables, reached)?.count(self.is_match, skip).await
        }))
    }

    /// Goes on after a row that cannot be read, and passes its error to `skip`: see
    /// [`Rows::skip_unreadable`](crate::Rows::skip_unreadable).
    pub fn skip_unreadable<'f>(self, skip: impl FnMut(Error) + Send + 'f) -> SkipUnreadable<'f, Self> {
        SkipUnreadable::new(self, skip)
    }

    /// Describes the requests that the query will send to the store.
    pub fn explain(&self) -> Explain {
        match self.reads {
            Reading::Rows(reached, cost) => Explain::of_rows(cost(), &self.plan, reached),
            Reading::Point => Explain::of_point(&self.plan),
        }
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    fn begin(&self, tables: &Tables, verb: &'static str) -> Option<Box<Running>> {
        let cost = match self.reads {
            Reading::Rows(_, cost) => cost,
            Reading::Point => cost::Point::name,
        };
        self.plan.begin(tables, verb, cost)
    }

    async fn read(&self, tables: &Tables, items: &mut Vec<T>, skip: Option<OnUnreadable<'_>>) -> Result<()> {
        let mut read = |found: &FoundRow<'_>| (self.give)(found, items);
        match self.reads {
            Reading::Rows(reached, _) => Source::new(&self.plan, tables, reached)?.read_all(read, skip).await,
            Reading::Point if self.plan.take == Some(0) => Ok(()),
            Reading::Point => or_skip(&self.plan, point::find(&self.plan, tables, &mut read), skip).await,
        }
    }
}

/// Reads the row of a point. Passes the row's error to `skip`, if there is one; then nothing was found.
async fn or_skip<T: Default>(
    plan: &Plan,
    find: impl Future<Output = Result<T>>,
    mut skip: Option<OnUnreadable<'_>>,
) -> Result<T> {
    // A key that no row can have is not the error of a row.
    plan.checked_keys()?;
    plan.row_table()?;
    match find.await {
        Err(error) if is_unreadable(&error) => skip_or_fail(&mut skip, error).map(|()| T::default()),
        found => found,
    }
}

/// Adds the found row to `items` if it is a match, and returns whether it is one.
#[inline]
pub(super) fn give<V: OwnedView>(found: &FoundRow<'_>, items: &mut Vec<V::Item>) -> Result<bool> {
    V::read(found, |row| items.push(V::own(row)))
}

impl<T> Clone for BoxedRows<T> {
    fn clone(&self) -> Self {
        let Self { ref plan, reads, give, is_match } = *self;
        Self { plan: plan.clone(), reads, give, is_match }
    }
}

impl<T> fmt::Debug for BoxedRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}
