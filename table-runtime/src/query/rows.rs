//! Rows of one layout, in key order.

use std::{
    future::{self, Ready},
    marker::PhantomData,
};

use super::{
    Access, Bounds, Complete, Done, Entities, Explain, HasPart, OnePoint, Opened, PageOf, Part, PrefixAccess, Query,
    Reach, Rest, Sorted,
    pages::{OnePage, RowPages},
    plan::Plan,
};
use crate::{
    Result, RowRef, Stored, TableEntity, Tables,
    backend::BoxFuture,
    column::{Decided, Filter},
    cost::{self, Cost},
    entity,
    key::{Encode, KeyPart, Ordered, Prefixed, Textual},
};

/// For how many entities room is made at first, if so many were asked for.
const ROOM: usize = 128;

/// Rows of one layout, in the order of their keys.
///
/// - `P`: the key parts that are still open; `eq`, `starts_with` and `range` narrow the next one.
/// - `A`: how the partitions are reached, which is most of what a query costs.
///
/// It is run with `all`, `first`, `stream`, `page` or `count`.
#[must_use = "a query does nothing until it is run, with `all`, `first`, `stream`, `page` or `count`"]
pub struct Rows<E, P = Done, A = cost::Range> {
    plan: Plan,
    types: PhantomData<fn() -> (E, P, A)>,
}

impl<E, P, A> Clone for Rows<E, P, A> {
    fn clone(&self) -> Self {
        Self::new(self.plan.clone())
    }
}

impl<E, T: KeyPart, N, R: Rest, A> Rows<E, (Part<T, N>, R), A> {
    /// Gives the next key part its value. Once no part is open, the query is a [`Point`](crate::Point).
    pub fn eq(mut self, value: T::Arg<'_>) -> R::Query<E, A::After>
    where
        N: Encode<T::Kind>,
        A: Access<T::Kind, After: Complete>,
    {
        let value = T::arg_value(value);
        A::open(value, &mut self.plan);
        self.plan.push_row::<T::Kind, N>(value, R::LAST);
        R::next(self.plan)
    }

    /// Narrows the next key part, a text, to what begins with `prefix`, folded as the key is.
    pub fn starts_with(mut self, prefix: &str) -> Rows<E, Done, A::AfterPrefix>
    where
        T::Kind: Textual,
        N: Prefixed,
        A: Reach + PrefixAccess,
    {
        A::open_prefix(prefix, &mut self.plan);
        self.plan.push_prefix::<N>(prefix, R::LAST);
        Rows::new(self.plan)
    }

    /// Narrows the next key part to the values between two bounds, in the order of the values: of a descending part,
    /// too, the lesser one is written first.
    ///
    /// Text is compared as the key holds it: folded, escaped, by UTF-16 unit. Times are rounded down to a tick, bounds
    /// like values, so that windows that meet do not overlap.
    pub fn range<'a>(mut self, bounds: impl Bounds<T::Arg<'a>>) -> Rows<E, Done, A>
    where
        (Part<T, N>, R): Sorted<Encoding: Ordered<T::Kind>>,
    {
        let (from, to) = bounds.bounds();
        let bounds = (from.map(T::arg_value), to.map(T::arg_value));
        self.plan.push_range::<T::Kind, Encoding<T, N, R>>(bounds, R::LAST, Encoding::<T, N, R>::DESCENDING);
        Rows::new(self.plan)
    }
}

type Encoding<T, N, R> = <(Part<T, N>, R) as Sorted>::Encoding;

/// No key part is left; these say so. What they give is any type, so that nothing more is said.
#[doc(hidden)]
impl<E, A> Rows<E, Done, A> {
    pub fn eq<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<E>: HasPart>,
    {
        A::complete::<E>(self.plan).narrowed()
    }

    pub fn starts_with<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<E>: HasPart>,
    {
        A::complete::<E>(self.plan).narrowed()
    }

    pub fn range<T, Q>(self, _: T) -> Q
    where
        A: Complete<Point<E>: HasPart>,
    {
        A::complete::<E>(self.plan).narrowed()
    }
}

impl<E, P, A> Rows<E, P, A> {
    pub(super) const fn new(plan: Plan) -> Self {
        Self { plan, types: PhantomData }
    }

    /// Reads at most `count` rows in all.
    pub fn take(mut self, count: usize) -> Self {
        self.plan.take = Some(self.plan.take.map_or(count, |before| before.min(count)));
        self
    }

    /// Drops the rows for which the condition does not hold. The store reads them all the same, so this costs at
    /// least a partition scan; a further filter has to hold as well.
    pub fn filter<F>(mut self, filter: impl FnOnce(E::Columns) -> Filter<E, F>) -> Rows<E, Done, A::Filtered>
    where
        E: TableEntity,
        A: Reach + Opened,
        F: Decided,
    {
        self.plan.filter(filter(E::COLUMNS).condition);
        Rows::new(self.plan)
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a value that no key holds, [`Error::Query`](crate::Error::Query) for a
    /// prefix that is too short, [`Error::Property`](crate::Error::Property) for a row that does not fit the struct,
    /// and what the store says.
    pub fn all<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Vec<Stored<E>>>>
    where
        E: TableEntity,
        A: Opened,
    {
        let table = self.plan.table();
        let room = self.plan.take.unwrap_or(0).min(ROOM);
        let pages = self.pages(tables);
        Box::pin(async move {
            let (mut pages, mut entities) = (pages?, Vec::with_capacity(room));
            while pages.next(&mut |row| entity::read(table, row).map(|entity| entities.push(entity))).await? {}
            Ok(entities)
        })
    }

    /// Reads the first row; `None` if there is none.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn first<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<Option<Stored<E>>>>
    where
        E: TableEntity,
        A: Opened,
    {
        let all = self.take(1).all(tables);
        Box::pin(async move { Ok(all.await?.pop()) })
    }

    /// Reads row after row, a page of up to 1000 at a time and each only when it is asked for.
    ///
    /// Errors are those of [`all`](Self::all); after one the stream ends.
    pub fn stream(self, tables: &Tables) -> Entities<E>
    where
        E: TableEntity,
        A: Opened,
    {
        Entities::new(self.plan.table(), self.pages(tables))
    }

    /// Reads the next `size` rows: the first ones, or those after the cursor of the page before.
    ///
    /// Rows may come and go between two pages: a cursor resumes right after the last row that was given out.
    ///
    /// # Errors
    /// As [`all`](Self::all), and [`Error::Cursor`](crate::Error::Cursor) for a cursor that is damaged or of another
    /// query.
    pub fn page<'t>(mut self, tables: &'t Tables, size: usize, cursor: Option<&str>) -> BoxFuture<'t, Result<PageOf<E>>>
    where
        E: TableEntity,
        A: Opened,
    {
        let table = self.plan.table();
        if size == 0 {
            self.plan.refuse("a page of 0 rows has no next one".to_owned());
        }
        let page = self.pages(tables).and_then(|pages| OnePage::new(self.plan.layout(), pages, size, cursor));
        Box::pin(async move {
            let mut entities = Vec::with_capacity(size.min(ROOM));
            let next = page?.read(&mut |row| entity::read(table, row).map(|entity| entities.push(entity))).await?;
            Ok(PageOf { entities, next })
        })
    }

    /// Counts the rows, without their properties. The store has no counter: every row is read.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn count<'t>(self, tables: &'t Tables) -> BoxFuture<'t, Result<usize>>
    where
        A: Opened,
    {
        let pages = self.pages(tables).map(RowPages::without_properties);
        Box::pin(async move {
            let (mut pages, mut count) = (pages?, 0);
            let mut one = |_: RowRef<'_>| {
                count += 1;
                Ok(())
            };
            while pages.next(&mut one).await? {}
            Ok(count)
        })
    }

    /// What it will ask of the store.
    pub fn explain(&self) -> Explain
    where
        A: Opened,
    {
        let scan = self.plan.checked_scan(A::partitions(&self.plan));
        let problem = scan.as_ref().err().map(ToString::to_string);
        let scan = scan.unwrap_or_else(|_| self.plan.scan(A::partitions(&self.plan)));
        Explain::scan(A::Cost::name(), &scan, self.plan.take, problem)
    }

    /// A query of many rows is no point; this says so.
    #[doc(hidden)]
    pub fn get(self, _: &Tables) -> Ready<Result<Option<Stored<E>>>>
    where
        P: OnePoint,
    {
        future::ready(Ok(None))
    }

    fn pages(&self, tables: &Tables) -> Result<RowPages>
    where
        A: Opened,
    {
        let scan = self.plan.checked_scan(A::partitions(&self.plan))?;
        Ok(RowPages::new(tables.backend().clone(), scan, self.plan.take))
    }
}

impl<E, P, A: Opened> Query for Rows<E, P, A> {
    type Entity = E;
    type Cost = A::Cost;

    fn explain(&self) -> Explain {
        self.explain()
    }
}
