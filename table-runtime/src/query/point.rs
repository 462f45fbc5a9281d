//! One row by its full key.

use std::{fmt, marker::PhantomData};

use super::{Explain, HasPart, Primary, Query, Rows, plan::Plan};
use crate::{
    Result, RowRef, Stored, TableEntity, Tables,
    backend::Reader,
    cost::{self, Cost},
    entity,
};

/// The way of a [`Point`] through a unique index.
pub enum Lookup {}

/// The one row of a full key, which may exist or not.
///
/// `V` says by which layout: [`Primary`], the entity's own key, or [`Lookup`], a unique index.
#[must_use = "a query does nothing until it is run, with `get` or `exists`"]
pub struct Point<E, V = Primary> {
    plan: Plan,
    types: PhantomData<fn() -> (E, V)>,
}

impl<E, V> fmt::Debug for Point<E, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}

impl<E, V> Clone for Point<E, V> {
    fn clone(&self) -> Self {
        Self::new(self.plan.clone())
    }
}

/// What has an entity: any query, and the entity itself as it is stored.
pub trait OfEntity {
    /// The entity.
    type Entity;
}

impl<E, V> OfEntity for Point<E, V> {
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

impl<E, V> Point<E, V> {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self { plan, types: PhantomData }
    }

    /// What it will ask of the store.
    pub fn explain(&self) -> Explain {
        let problem = self.plan.checked_keys().err().map(|error| error.to_string());
        Explain::point(cost::Point::name(), self.plan.table(), self.plan.keys(), problem)
    }
}

/// A point has no key part left; these say so. What they give is any type, so that nothing more is said.
#[doc(hidden)]
impl<E, V> Point<E, V> {
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

impl<E: TableEntity> Point<E, Primary> {
    /// Reads the row, with one request; `None` if there is none, or one of another kind.
    ///
    /// # Errors
    /// [`Error::Key`](crate::Error::Key) for a value that no key holds, [`Error::Property`](crate::Error::Property)
    /// for a row that does not fit the struct, and what the store says.
    pub async fn get(self, tables: &Tables) -> Result<Option<Stored<E>>> {
        let (table, mut entity) = (self.plan.table(), None);
        let mut read = |row: RowRef<'_>| entity::read(table, row).map(|read| entity = Some(read));
        get(&self.plan, tables, None, &mut read).await?;
        Ok(entity)
    }

    /// Whether the row exists, with one request that carries no properties.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn exists(self, tables: &Tables) -> Result<bool> {
        let mut exists = false;
        let mut read = |_: RowRef<'_>| {
            exists = true;
            Ok(())
        };
        get(&self.plan, tables, Some(&[entity::KIND]), &mut read).await?;
        Ok(exists)
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
}

/// Lends the row of a point to `read`, if it is of the entity's kind.
async fn get(plan: &Plan, tables: &Tables, select: Option<&'static [&'static str]>, read: Reader<'_>) -> Result<()> {
    let (partition, row) = plan.checked_keys()?;
    let mut of_kind = |row: RowRef<'_>| match plan.kind() {
        Some(kind) if !entity::is_kind(plan.table(), row, kind)? => Ok(()),
        _ => read(row),
    };
    tables.backend().get_with(plan.table(), partition, row, select, &mut of_kind).await?;
    Ok(())
}

impl<E, V> Query for Point<E, V> {
    type Entity = E;
    type Cost = cost::Point;

    fn explain(&self) -> Explain {
        self.explain()
    }
}
