//! Queries whose types do not depend on their keys.

use std::{borrow::Cow, fmt};

use table_model::cost::{self, Cost as _};
use table_store::{Error, Result, backend::BoxFuture, unstable::observe::Running};

use super::{Entities, Explain, OwnedView, PageOf, SkipUnreadable, point::IsMatch, view::is_match};
use crate::{
    client::tables::Tables,
    query::ReturnsNothingOfRow,
    read::{FoundRow, Plan, ReachedPartitions},
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
    pub(super) plan: Plan,
    pub(super) reads: Reading,
    /// Adds a found row to the results if it is a match, and returns whether it is one.
    pub(super) give: Give<T>,
    pub(super) is_match: IsMatch,
}

type Give<T> = fn(&FoundRow<'_>, &mut Vec<T>) -> Result<bool>;

/// Rows that a query reads.
#[derive(Clone, Copy)]
pub(super) enum Reading {
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
        SkipUnreadable::new(self, None).all(tables)
    }

    /// Reads the first row; `None` if there is none.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all).
    pub fn first(self, tables: &Tables) -> BoxFuture<'_, Result<Option<T>>> {
        SkipUnreadable::new(self, None).first(tables)
    }

    /// Returns a stream of the rows: see [`Rows::stream`](crate::Rows::stream).
    pub fn stream(self, tables: &Tables) -> Entities<T> {
        SkipUnreadable::new(self, None).stream(tables)
    }

    /// Reads the next `size` rows: see [`Rows::page`](crate::Rows::page). The cursors are those of the query that was
    /// boxed.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::page`](crate::Rows::page).
    pub fn page<'t>(self, tables: &'t Tables, size: usize, cursor: Option<&str>) -> BoxFuture<'t, Result<PageOf<T>>> {
        SkipUnreadable::new(self, None).page(tables, size, cursor)
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
        SkipUnreadable::new(self, None).for_each(tables, each)
    }

    /// Counts the rows: see [`Rows::count`](crate::Rows::count).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all).
    pub fn count(self, tables: &Tables) -> BoxFuture<'_, Result<usize>> {
        SkipUnreadable::new(self, None).count(tables)
    }

    /// Goes on after a row that cannot be read, and passes its error to `skip`: see
    /// [`Rows::skip_unreadable`](crate::Rows::skip_unreadable).
    pub fn skip_unreadable<'f>(self, skip: impl FnMut(Error) + Send + 'f) -> SkipUnreadable<'f, T> {
        SkipUnreadable::new(self, Some(Box::new(skip)))
    }

    /// Describes the requests that the query will send to the store.
    pub fn explain(&self) -> Explain {
        match self.reads {
            Reading::Rows(reached, cost) => Explain::of_rows(cost(), &self.plan, reached),
            Reading::Point => Explain::of_point(&self.plan),
        }
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    pub(super) fn begin(&self, tables: &Tables, verb: &'static str) -> Option<Box<Running>> {
        let cost = match self.reads {
            Reading::Rows(_, cost) => cost,
            Reading::Point => cost::Point::name,
        };
        self.plan.begin(tables, verb, cost)
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
