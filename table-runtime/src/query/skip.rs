//! The operations of a boxed query, which can go on after a row that cannot be read.

use std::fmt;

use table_model::unstable::codec::is_unreadable;
use table_store::{
    Error, Result,
    backend::BoxFuture,
    error::ParseCursorError,
    unstable::observe::{Running, observed},
};

use super::{BoxedRows, Entities, PageOf, boxed::Reading, point};
use crate::{
    client::tables::Tables,
    query::ReturnsNothingOfRow,
    read::{FoundRow, OnUnreadable, OnePage, Plan, Source, skip_or_fail},
};

/// A query that passes the errors of rows that cannot be read to a closure, and leaves these rows out: see
/// [`Rows::skip_unreadable`](crate::Rows::skip_unreadable).
#[must_use = "a query does nothing until it is run, with `all`, `first`, `stream`, `page` or `count`"]
pub struct SkipUnreadable<'f, T> {
    query: BoxedRows<T>,
    /// The closure. Without one, the first such row ends the query: the functions of [`BoxedRows`] run it so.
    skip: Option<OnUnreadable<'f>>,
}

/// Greatest number of entities for which a result allocates memory before it has read any.
const INITIAL_CAPACITY: usize = 128;

impl<T> fmt::Debug for SkipUnreadable<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipUnreadable").field("query", &self.query).finish_non_exhaustive()
    }
}

impl<'f, T: Send + 'static> SkipUnreadable<'f, T> {
    pub(super) const fn new(query: BoxedRows<T>, skip: Option<OnUnreadable<'f>>) -> Self {
        Self { query, skip }
    }

    /// Limits the query to `count` rows in all. Rows that cannot be read do not count.
    pub fn take(self, count: usize) -> Self {
        Self { query: self.query.take(count), skip: self.skip }
    }

    /// Reads all rows that can be read: see [`Rows::all`](crate::Rows::all).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all) that are not those of one row.
    pub fn all<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Vec<T>>>
    where
        'f: 't,
    {
        let running = self.begin(tables, "all");
        Box::pin(observed(running, async move {
            let mut items = Vec::with_capacity(self.query.plan.take.unwrap_or(0).min(INITIAL_CAPACITY));
            self.read_into(tables, &mut items).await?;
            Ok(items)
        }))
    }

    /// Reads the first row that can be read: see [`Rows::first`](crate::Rows::first).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all) that are not those of one row.
    pub fn first<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Option<T>>>
    where
        'f: 't,
    {
        let running = self.begin(tables, "first");
        let first = self.take(1);
        Box::pin(observed(running, async move {
            let mut items = Vec::new();
            first.read_into(tables, &mut items).await?;
            Ok(items.pop())
        }))
    }

    /// Reads the next `size` rows that can be read: see [`Rows::page`](crate::Rows::page). The cursors are those of the query
    /// itself.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::page`](crate::Rows::page) that are not those of one row.
    pub fn page<'t>(mut self, tables: &'t Tables, size: usize, cursor: Option<&str>) -> BoxFuture<'t, Result<PageOf<T>>>
    where
        'f: 't,
    {
        let running = self.begin(tables, "page");
        if size == 0 {
            self.query.plan.refuse("a page of 0 rows has no next one".to_owned());
        }
        let Reading::Rows(reached, _) = self.query.reads else {
            // A point has no second page, so no cursor is one of its own.
            let other = cursor.map(|_| Error::from(ParseCursorError::OtherQuery));
            return Box::pin(observed(running, async move {
                let mut entities = Vec::new();
                match other {
                    Some(error) => Err(error),
                    None => self.read_into(tables, &mut entities).await.map(|()| PageOf { entities, next: None }),
                }
            }));
        };
        let Self { query: BoxedRows { plan, give, .. }, skip } = self;
        let source = Source::new(&plan, tables, reached);
        let page = source.and_then(|source| OnePage::new(plan.layout(), source, size, cursor));
        Box::pin(observed(running, async move {
            let mut entities = Vec::with_capacity(size.min(INITIAL_CAPACITY));
            let next = page?.read(&mut |found| give(found, &mut entities), skip).await?;
            Ok(PageOf { entities, next })
        }))
    }

    /// Calls `each` with every row that can be read, in key order: see [`Rows::for_each`](crate::Rows::for_each).
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all) that are not those of one row.
    pub fn for_each<'t, F, R>(self, tables: &'t Tables, mut each: F) -> BoxFuture<'t, Result<()>>
    where
        'f: 't,
        F: FnMut(T) -> R + Send + 't,
        R: ReturnsNothingOfRow,
    {
        let running = self.begin(tables, "for_each");
        let (give, mut items) = (self.query.give, Vec::new());
        let read = move |found: &FoundRow<'_>| {
            let is_match = give(found, &mut items)?;
            for item in items.drain(..) {
                each(item);
            }
            Ok(is_match)
        };
        Box::pin(observed(running, async move { self.read(tables, read).await }))
    }

    /// Counts the rows: see [`Rows::count`](crate::Rows::count). A row counts if the properties that decide about that can be
    /// read.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`](crate::Rows::all) that are not those of one row.
    pub fn count<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>>
    where
        'f: 't,
    {
        let running = self.begin(tables, "count");
        let Self { query: BoxedRows { plan, reads, is_match, .. }, skip } = self;
        Box::pin(observed(running, async move {
            match reads {
                Reading::Rows(reached, _) => Source::new(&plan, tables, reached)?.count(is_match, skip).await,
                Reading::Point if plan.take == Some(0) => Ok(0),
                Reading::Point => or_skip(&plan, point::exists(&plan, tables, is_match), skip).await.map(usize::from),
            }
        }))
    }

    fn begin(&self, tables: &Tables, verb: &'static str) -> Option<Box<Running>> {
        self.query.begin(tables, verb)
    }

    async fn read_into(self, tables: &Tables, items: &mut Vec<T>) -> Result<()> {
        let give = self.query.give;
        self.read(tables, |found| give(found, items)).await
    }

    /// Calls `read` with each row.
    async fn read(self, tables: &Tables, mut read: impl FnMut(&FoundRow<'_>) -> Result<bool> + Send) -> Result<()> {
        let Self { query: BoxedRows { plan, reads, .. }, skip } = self;
        match reads {
            Reading::Rows(reached, _) => Source::new(&plan, tables, reached)?.read_all(read, skip).await,
            Reading::Point if plan.take == Some(0) => Ok(()),
            Reading::Point => or_skip(&plan, point::find(&plan, tables, &mut read), skip).await,
        }
    }
}

impl<T: Send + 'static> SkipUnreadable<'static, T> {
    /// Returns a stream of the rows that can be read: see [`Rows::stream`](crate::Rows::stream). The stream keeps the closure,
    /// which therefore borrows nothing: let it own what it uses, with `move`.
    pub fn stream(self, tables: &Tables) -> Entities<T> {
        let (table, running) = (self.query.plan.table(), self.begin(tables, "stream"));
        match self.query.reads {
            Reading::Rows(reached, _) => {
                let source = Source::new(&self.query.plan, tables, reached);
                Entities::new(table, running, source, self.query.give, self.skip)
            }
            Reading::Point => {
                let tables = tables.clone();
                Entities::once(table, running, async move {
                    let mut items = Vec::new();
                    self.read_into(&tables, &mut items).await?;
                    Ok(items)
                })
            }
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
