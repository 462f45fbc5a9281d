//! Queries of one row by its full key.

use std::{fmt, marker::PhantomData};

use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use table_model::{
    HasBin, TableEntity,
    cost::{self, Cost as _},
};
use table_store::{
    Result, RowRef,
    backend::BoxFuture,
    unstable::observe::{Running, observed},
};

use super::{
    BoxedRows, Explain, HasEntity, HasPart, OneEntity, OwnedView, Primary, Query, Selectable, View, view::is_match,
};
use crate::{
    client::{pacing, sealed::Sealed, stored::Stored, tables::Tables},
    read::{self, Bin, FoundRow, OnRow, Plan, SelectedProperties},
};

/// Marker of a [`Point`] that goes through a unique index.
pub enum Lookup {}

/// Query of the one row with a full key. The row may exist or not.
///
/// - `V`: the result, a [`View`]: an entity, as [`Stored`](crate::Stored), or a copy of it in an index, as
///   [`Copied`](crate::Copied).
/// - `W`: the key, either [`Primary`], the entity's own key, or [`Lookup`], the key of a unique index.
#[must_use = "a query does nothing until it is run, with `get` or `exists`"]
pub struct Point<V, W = Primary> {
    plan: Plan,
    types: PhantomData<fn() -> (V, W)>,
}

impl<V, W> Sealed for Point<V, W> {}

impl<E: TableEntity> Sealed<E> for Point<E, Primary> {}

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

impl<E: TableEntity> Stored<E> {
    /// Returns the key of the row that was read, for another read, a [`patch`](Tables::patch) or a
    /// [`remove`](Tables::remove). It is the key of the stored row also after a change of the entity's key fields.
    ///
    /// ```
    /// # use table_runtime::{Result, Stored, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32, likes: u32 }
    /// /// Reads the post again.
    /// async fn refresh(tables: &Tables, post: &mut Stored<Post>) -> Result<()> {
    ///     if let Some(now) = Stored::key(post).get(tables).await? {
    ///         *post = now;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn key(this: &Self) -> Point<E, Primary> {
        let (entity, state) = this.parts();
        Point::new(Plan::of_stored::<E>(state.loaded_key(entity)))
    }
}

impl<V, W> Point<V, W> {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self { plan, types: PhantomData }
    }

    pub(super) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Begins an operation of a user; `None` if nobody observes it.
    fn begin(&self, tables: &Tables, verb: &'static str) -> Option<Box<Running>> {
        self.plan.begin(tables, verb, cost::Point::name)
    }

    /// Describes the requests that the query will send to the store.
    pub fn explain(&self) -> Explain {
        Explain::of_point(&self.plan)
    }
}

/// Methods that narrow a key, of which a point has no part left. They exist for the error message of [`HasPart`]. They
/// return any type, so that the compiler reports no further error.
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
    /// Finds the entity in the bin as well: see [`Rows::with_deleted`](crate::Rows::with_deleted) for an example.
    pub fn with_deleted(mut self) -> Self
    where
        V: View<Entity: HasBin>,
    {
        self.plan.show(Bin::Shown);
        self
    }

    /// Finds the entity only in the bin: see [`Rows::only_deleted`](crate::Rows::only_deleted).
    pub fn only_deleted(mut self) -> Self
    where
        V: View<Entity: HasBin>,
    {
        self.plan.show(Bin::Only);
        self
    }

    /// Reads the row; `None` if there is no row, or a row of another kind, or one that a time [hides](crate::guide::lifecycle).
    ///
    /// Takes one request, or two through an index whose rows point to their entities. Through such an index, an entity
    /// that no longer has the value is not returned, and one more request checks whether the pointer has changed
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a value that no key can hold, [`Error::Property`](crate::Error::Property)
    /// for a row that does not fit the struct, and the errors of the store.
    pub async fn get(self, tables: &Tables) -> Result<Option<V::Item>>
    where
        V: OwnedView,
    {
        let mut item = None;
        let mut read = |found: &FoundRow<'_>| V::read(found, |row| item = Some(V::own(row)));
        observed(self.begin(tables, "get"), find(&self.plan, tables, &mut read)).await?;
        Ok(item)
    }

    /// Returns the entity in a row with this key, as [`get`](Self::get) returns it if the row is stored.
    pub(crate) fn in_row(&self, tables: &Tables, row: RowRef<'_>) -> Result<Option<V::Item>>
    where
        V: OwnedView,
    {
        let mut item = None;
        let mut read = |found: &FoundRow<'_>| V::read(found, |row| item = Some(V::own(row)));
        read::show(&self.plan, tables, &self.plan.row_table()?, &row, &mut read)?;
        Ok(item)
    }

    /// Returns the entity itself, without its version: see [`Rows::plain`](crate::Rows::plain).
    pub fn plain<I>(self) -> Point<I::Plain, W>
    where
        V: OwnedView<Item = I>,
        I: HasEntity,
    {
        Point::new(self.plan)
    }

    /// Reads only the fields of a projection.
    ///
    /// [`Rows::select`](crate::Rows::select) describes the requests through an index.
    pub fn select<S>(mut self /* no closure: `.select::<Title>()` */) -> Point<S::Selected, W>
    where
        V: View<Entity: OneEntity>,
        S: Selectable<V::Entity>,
    {
        self.plan.select(Some(SelectedProperties::new(S::PROPERTIES, false)));
        Point::new(self.plan)
    }

    /// Returns the point as a query of at most one row, without its types: see [`BoxedRows`].
    pub fn boxed(self) -> BoxedRows<V::Item>
    where
        V: OwnedView,
    {
        BoxedRows::of_point::<V>(self.plan)
    }

    /// Checks whether the row exists, with as many requests as [`get`](Self::get). If that is one request, it reads
    /// only the properties that the check needs.
    ///
    /// # Errors
    /// Fails with the errors of [`get`](Self::get).
    pub async fn exists(self, tables: &Tables) -> Result<bool> {
        observed(self.begin(tables, "exists"), exists(&self.plan, tables, is_match::<V>)).await
    }
}

/// Calls `read` with the row of a point, if there is one.
pub(super) async fn find(plan: &Plan, tables: &Tables, read: OnRow<'_>) -> Result<()> {
    let select = plan.selected(&plan.visible().properties());
    read::find(plan, tables, select.as_deref(), read).await
}

/// Checks whether the row of a point exists and is a match.
pub(super) async fn exists(plan: &Plan, tables: &Tables, is_match: IsMatch) -> Result<bool> {
    let mut exists = false;
    let mut read = |found: &FoundRow<'_>| {
        exists = is_match(found)?;
        Ok(exists)
    };
    read::find(plan, tables, Some(&plan.seen_by()), &mut read).await?;
    Ok(exists)
}

/// Function that checks whether a found row is a match.
pub(super) type IsMatch = fn(&FoundRow<'_>) -> Result<bool>;

impl<V: View> Point<V, Lookup> {
    /// Reads only the fields of a projection, from the index row if it holds them: see
    /// [`Rows::select_unchecked`](crate::Rows::select_unchecked).
    pub fn select_unchecked<S>(mut self) -> Point<S::Selected, Lookup>
    where
        V: View<Entity: OneEntity>,
        S: Selectable<V::Entity>,
    {
        self.plan.select(Some(SelectedProperties::new(S::PROPERTIES, true)));
        Point::new(self.plan)
    }
}

/// An entity's own key, under which it can be written: the [`Point`] that `T::key(…)` returns.
#[diagnostic::on_unimplemented(
    message = "`patch`, `modify`, `remove` and `restore` take the full key of an entity",
    label = "not a full key",
    note = "write `T::key(…)`, with every field of the key, such as `Post::key(&post.author, post.id)`",
    note = "what was read as `stored` has `update(&mut stored)` and `delete(&stored)`, and its key is `Stored::key(&stored)`",
    note = "a group is changed by its query: `Report::by_key(…).eq(1).modify(&tables, |rows| …)`",
    note = "rows of a query are deleted with `query.delete_all(&tables)`, for good, and changed or restored one by one; through an \
            index, read the entity first"
)]
pub trait OwnKey: Sealed {
    /// Entity that has the key.
    type Entity;

    #[doc(hidden)]
    fn plan(&self) -> &Plan;
}

#[diagnostic::do_not_recommend]
impl<E> OwnKey for Point<E, Primary> {
    type Entity = E;

    fn plan(&self) -> &Plan {
        self.plan()
    }
}

/// A full key that [`Tables::get_many`] reads: a [`Point`], or a reference to one.
#[diagnostic::on_unimplemented(
    message = "`get_many` reads full keys",
    label = "not a full key",
    note = "write `tables.get_many([T::key(…), T::key(…)])`, with every field of the key in each; the function has no type to give, so \
            without `::<T>`"
)]
pub trait PointKey: Sealed {
    /// What is read.
    type View: OwnedView;
    /// The key: the entity's own, or that of a unique index.
    type Through: 'static;

    /// Returns the query.
    fn into_point(self) -> Point<Self::View, Self::Through>;
}

#[diagnostic::do_not_recommend]
impl<V: OwnedView, W: 'static> PointKey for Point<V, W> {
    type View = V;
    type Through = W;

    fn into_point(self) -> Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<V: OwnedView, W: 'static> PointKey for &Point<V, W> {
    type View = V;
    type Through = W;

    fn into_point(self) -> Point<V, W> {
        self.clone()
    }
}

impl Tables {
    /// Reads rows by their keys, or through a unique index: one point read for each, several concurrently, never an
    /// `or`. The results are in the order of the keys, with `None` for a key without a row.
    ///
    /// # Errors
    /// Fails with the error of the first [`Point::get`] that failed.
    pub fn get_many<'t, K: PointKey>(
        &'t self,
        keys: impl IntoIterator<Item = K>,
    ) -> BoxFuture<'t, Result<Vec<Option<<K::View as View>::Item>>>> {
        let keys: Vec<_> = keys.into_iter().map(K::into_point).collect();
        let running = keys.first().and_then(|first| first.begin(self, "get_many"));
        let points: Vec<_> = keys.into_iter().map(|key| key.get(self).boxed()).collect();
        Box::pin(observed(running, stream::iter(points).buffered(pacing::CONCURRENCY).try_collect()))
    }
}

impl<V: OwnedView, W> Query for Point<V, W> {
    type Entity = V::Entity;
    type Item = V::Item;
    type Cost = cost::Point;

    fn explain(&self) -> Explain {
        self.explain()
    }

    fn boxed(self) -> BoxedRows<V::Item> {
        self.boxed()
    }
}
