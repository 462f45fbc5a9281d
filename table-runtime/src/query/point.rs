//! One row by its full key.

use std::{borrow::Cow, fmt, marker::PhantomData};

use super::{
    Explain, Found, HasPart, Primary, Projection, Query, Rows, View,
    plan::{Erased, Plan},
    projection::Selection,
    source::FoundReader,
    view::Through,
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    Error, Result, RowRef, Stored, Tables,
    cost::{self, Cost},
    pacing,
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

/// What has an entity: any query, and the entity itself as it is stored.
pub trait OfEntity {
    /// The entity.
    type Entity;
}

impl<E, W> OfEntity for Point<E, W> {
    type Entity = E;
}

impl<E, P, A> OfEntity for Rows<E, P, A> {
    type Entity = E;
}

impl<E> OfEntity for &Stored<E> {
    type Entity = E;
}

impl<E> OfEntity for &mut Stored<E> {
    type Entity = E;
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
        let mut read = |found: Found<'_>| {
            item = V::read(found)?;
            Ok(item.is_some())
        };
        let select = self.plan.selected(self.plan.visible().properties());
        find(&self.plan, tables, select.as_deref(), &mut read).await?;
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
        let mut read = |found: Found<'_>| {
            exists = found.is_match::<V>()?;
            Ok(exists)
        };
        find(&self.plan, tables, Some(self.plan.seen_by()), &mut read).await?;
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

impl Plan {
    /// The two keys of a point, if it has them and the service takes them.
    pub(crate) fn checked_keys(&self) -> Result<(&str, &str)> {
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let (partition, row) = self.keys();
        Ok((partition, row))
    }

    /// The table of a point, whose keys were checked.
    pub(crate) fn row_table(&self) -> Result<Cow<'static, str>> {
        let (partition, row) = self.keys();
        self.layout().table_of(partition, row)
    }
}

/// Lends the row of a point to `read`, if readers see it.
async fn find(plan: &Plan, tables: &Tables, select: Option<&[&'static str]>, read: FoundReader<'_>) -> Result<()> {
    let (partition, row) = plan.checked_keys()?;
    let (layout, table) = (plan.layout_number(), plan.row_table()?);
    if let Some(erased) = plan.erased() {
        erased.is_ready(tables).await?;
        if plan.is_lookup() {
            return Box::pin(follow(plan, erased, tables, read)).await;
        }
    }
    let (visible, is_primary) = (plan.visible(), plan.layout().index.is_none());
    let mut seen = |row: RowRef<'_>| {
        if !is_primary || visible.sees(row)? {
            read(Found { layout, table: &table, row, through: None })?;
        }
        Ok(())
    };
    match tables.backend().get_with(&table, partition, row, select, &mut seen).await {
        // A slice that is not there, or not for long.
        Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if plan.layout().slice.is_some() => Ok(()),
        read => read.map(drop),
    }
}

/// Lends the entity that a row of an index points to to `read`, until it is a match.
async fn follow(plan: &Plan, erased: Erased, tables: &Tables, read: FoundReader<'_>) -> Result<()> {
    let (partition_key, row_key) = plan.keys();
    let (backend, visible) = (tables.backend(), plan.visible());
    let mut before = None;
    while let Some(pointer) = backend.get(plan.table(), partition_key, row_key, None).await? {
        // Between the two reads a value may move from one entity to another: its pointer then is another one.
        if before.as_ref() == Some(&pointer.etag) {
            break;
        }
        let (partition, row) = erased.owner(pointer.as_ref())?;
        let mut is_match = false;
        let mut checked = |row: RowRef<'_>| {
            if visible.sees(row)? {
                let through = Some(Through { layout: erased.layout, partition_key, row_key, is_list: false });
                is_match = read(Found { layout: 0, table: visible.table, row, through })?;
            }
            Ok(())
        };
        backend.get_with(visible.table, &partition, &row, None, &mut checked).await?;
        if is_match {
            break;
        }
        before = Some(pointer.etag);
    }
    Ok(())
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
