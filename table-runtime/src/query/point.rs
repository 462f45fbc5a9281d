//! One row by its full key.

use std::{fmt, marker::PhantomData};

use super::{Explain, HasPart, Primary, Projection, Query, View};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    Result, Tables,
    cost::{self, Cost},
    pacing,
    read::{self, FoundRow, Plan, Selection},
};

/// The way of a [`Point`] through a unique index.
pub enum Lookup {}

/// The one row of a full key, which may exist or not.
///
/// - `V`: what it gives out, a [`View`]: an entity, as [`Stored`], or a copy of it in an index, as
///   [`Copied`](crate::Copied).
/// - `W`: the way, [`Primary`], the entity's own key, or [`Lookup`], a unique index.
#[must_use = "a query does nothing until it is run, with `get` or `exists`"]
pub struct Point<V, W = Primary> {
    plan: Plan,
    types: PhantomData<fn() -> (V, W)>,
}

impl<V, W> fmt::Debug for Point<V, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<V, W> Clone for Point<V, W> {
    fn clone(&self) -> Self {
        Self::new(self.plan.clone())
    }
}

/// The entity's own key, by which it can be written: a [`Point`] of `T::key(…)`.
#[diagnostic::on_unimplemented(
    message = "`patch` and `remove` take the full key of an entity",
    label = "not a full key",
    note = "write `T::key(…)`, with every field of the key",
    note = "what was read as `stored` has `update(&mut stored)` and `delete(&stored)`"
)]
pub trait OwnKey {
    #[doc(hidden)]
    fn plan(&self) -> &Plan;
}

#[diagnostic::do_not_recommend]
impl<E> OwnKey for Point<E, Primary> {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl<V, W> Point<V, W> {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self { plan, types: PhantomData }
    }

    /// What it will ask of the store.
    pub fn explain(&self) -> Explain {
        let problem = self.plan.checked_keys().err().map(|error| error.to_string());
        Explain::point(cost::Point::name(), &self.plan, problem)
    }
}

/// A point has no key part left; these say so. What they give is any type, so that nothing more is said.
#[doc(hidden)]
impl<V, W> Point<V, W> {
    pub fn eq<T, Q>(self, _: T) -> Q
    where
        Self: HasPart,
    {
        self.narrowed()
    }

    pub fn starts_with<T, Q>(self, _: T) -> Q
    where
        Self: HasPart,
    {
        self.narrowed()
    }

    pub fn range<T, Q>(self, _: T) -> Q
    where
        Self: HasPart,
    {
        self.narrowed()
    }
}

impl<V: View, W> Point<V, W> {
    /// Reads the row; `None` if there is none, or one of another kind.
    ///
    /// It takes one request; two through an index whose rows point to their entities. There, an entity that does not
    /// have the value any more is none, and told so by one request more: whether the pointer has changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a value that no key holds, [`Error::Property`](crate::Error::Property)
    /// for a row that does not fit the struct, and what the store says.
    pub async fn get(self, tables: &Tables) -> Result<Option<V::Item>> {
        let mut item = None;
        let mut read = |found: FoundRow<'_>| {
            item = V::read(found)?;
            Ok(item.is_some())
        };
        let select = self.plan.selected(self.plan.visible().properties());
        read::find(&self.plan, tables, select.as_deref(), &mut read).await?;
        Ok(item)
    }

    /// Reads the fields of a projection alone.
    ///
    /// Through an index see [`Rows::select`].
    pub fn select<P>(mut self) -> Point<P, W>
    where
        P: Projection<V::Entity>,
    {
        self.plan.select(Some(Selection::new(P::PROPERTIES, false)));
        Point::new(self.plan)
    }

    /// Whether the row exists, with as many requests as [`get`](Self::get); a single one carries no properties.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn exists(self, tables: &Tables) -> Result<bool> {
        let mut exists = false;
        let mut read = |found: FoundRow<'_>| {
            exists = found.is_match::<V>()?;
            Ok(exists)
        };
        read::find(&self.plan, tables, Some(self.plan.seen_by()), &mut read).await?;
        Ok(exists)
    }
}

impl<V: View> Point<V, Lookup> {
    /// Reads the fields of a projection alone, from the row of the index where it holds them: see
    /// [`Rows::select_unchecked`].
    pub fn select_unchecked<P>(mut self) -> Point<P, Lookup>
    where
        P: Projection<V::Entity>,
    {
        self.plan.select(Some(Selection::new(P::PROPERTIES, true)));
        Point::new(self.plan)
    }
}

impl Tables {
    /// Reads rows by their keys, or through a unique index: a point each, side by side, never an `or`. The answers
    /// stand in the order of the keys, `None` where there is no row.
    ///
    /// # Errors
    /// Those of [`Point::get`], of the first that failed.
    pub async fn get_many<V: View, W>(
        &self,
        keys: impl IntoIterator<Item = Point<V, W>>,
    ) -> Result<Vec<Option<V::Item>>> {
        let points: Vec<_> = keys.into_iter().map(|key| key.get(self)).collect();
        stream::iter(points).buffered(pacing::CONCURRENCY).try_collect().await
    }
}

impl<V: View, W> Query for Point<V, W> {
    type Entity = V::Entity;
    type Cost = cost::Point;

    fn explain(&self) -> Explain {
        self.explain()
    }
}
