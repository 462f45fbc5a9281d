//! Queries that go on after a row that cannot be read.

use std::fmt;

use table_store::{Error, Result, backend::BoxFuture};

use super::{BoxedRows, Entities, Opened, OwnedView, PageOf, Rows, View};
use crate::{
    client::tables::Tables,
    model::{returned::ReturnsNothingOfRow, sealed::Sealed},
    read::OnUnreadable,
};

/// A query that passes the errors of rows that cannot be read to a closure, and leaves these rows out: see
/// [`Rows::skip_unreadable`].
#[must_use = "a query does nothing until it is run, with `all`, `first`, `stream`, `page` or `count`"]
pub struct SkipUnreadable<'f, Q> {
    query: Q,
    skip: OnUnreadable<'f>,
}

impl<'f, Q> SkipUnreadable<'f, Q> {
    pub(super) fn new(query: Q, skip: impl FnMut(Error) + Send + 'f) -> Self {
        Self { query, skip: Box::new(skip) }
    }
}

impl<Q: fmt::Debug> fmt::Debug for SkipUnreadable<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipUnreadable").field("query", &self.query).finish_non_exhaustive()
    }
}

/// A query that returns its results.
pub trait Boxable: Sealed {
    /// Result for one row.
    type Item: Send + 'static;

    #[doc(hidden)]
    fn into_boxed(self) -> BoxedRows<Self::Item>;
}

impl<V: OwnedView, P, A: Opened> Boxable for Rows<V, P, A> {
    type Item = V::Item;

    fn into_boxed(self) -> BoxedRows<V::Item> {
        self.boxed()
    }
}

impl<T> Sealed for BoxedRows<T> {}

impl<T: Send + 'static> Boxable for BoxedRows<T> {
    type Item = T;

    fn into_boxed(self) -> Self {
        self
    }
}

impl<'f, Q: Boxable> SkipUnreadable<'f, Q> {
    /// Limits the query to `count` rows in all. Rows that cannot be read do not count.
    pub fn take(self, count: usize) -> SkipUnreadable<'f, BoxedRows<Q::Item>> {
        SkipUnreadable { query: self.query.into_boxed().take(count), skip: self.skip }
    }

    /// Reads all rows that can be read: see [`Rows::all`].
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn all<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Vec<Q::Item>>>
    where
        'f: 't,
    {
        self.query.into_boxed().all_or_skip(tables, Some(self.skip))
    }

    /// Reads the first row that can be read: see [`Rows::first`].
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn first<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Option<Q::Item>>>
    where
        'f: 't,
    {
        self.query.into_boxed().first_or_skip(tables, Some(self.skip))
    }

    /// Reads the next `size` rows that can be read: see [`Rows::page`]. The cursors are those of the query itself.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::page`] that are not those of one row.
    pub fn page<'t>(
        self,
        tables: &'t Tables,
        size: usize,
        cursor: Option<&str>,
    ) -> BoxFuture<'t, Result<PageOf<Q::Item>>>
    where
        'f: 't,
    {
        self.query.into_boxed().page_or_skip(tables, size, cursor, Some(self.skip))
    }
}

impl<Q: Boxable> SkipUnreadable<'static, Q> {
    /// Returns a stream of the rows that can be read: see [`Rows::stream`]. The stream keeps the closure, which therefore
    /// borrows nothing: let it own what it uses, with `move`.
    pub fn stream(self, tables: &Tables) -> Entities<Q::Item> {
        self.query.into_boxed().stream_or_skip(tables, Some(self.skip))
    }
}

impl<'f, V: View, P, A: Opened> SkipUnreadable<'f, Rows<V, P, A>> {
    /// Calls `each` with every row that can be read, in key order: see [`Rows::for_each`].
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn for_each<'t, F, R>(self, tables: &'t Tables, each: F) -> BoxFuture<'t, Result<()>>
    where
        'f: 't,
        F: FnMut(V::Row<'_>) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        self.query.for_each_or_skip(tables, each, Some(self.skip))
    }

    /// Counts the rows: see [`Rows::count`]. A row counts if the properties that decide about that can be read.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn count<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>>
    where
        'f: 't,
    {
        self.query.count_or_skip(tables, Some(self.skip))
    }
}

impl<'f, T: Send + 'static> SkipUnreadable<'f, BoxedRows<T>> {
    /// Calls `each` with every row that can be read, in key order: see [`Rows::for_each`].
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn for_each<'t, F, R>(self, tables: &'t Tables, each: F) -> BoxFuture<'t, Result<()>>
    where
        'f: 't,
        F: FnMut(T) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        self.query.for_each_or_skip(tables, each, Some(self.skip))
    }

    /// Counts the rows: see [`Rows::count`]. A row counts if the properties that decide about that can be read.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`] that are not those of one row.
    pub fn count<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>>
    where
        'f: 't,
    {
        self.query.count_or_skip(tables, Some(self.skip))
    }
}
