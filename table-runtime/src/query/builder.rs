//! What the derive begins queries with.

use std::marker::PhantomData;

use super::{Point, Rows};
use crate::{
    TableEntity,
    key::{Encode, Kind, PartSink},
    read::Plan,
};

/// A query while the derive's functions give it its first parts.
pub struct QueryBuilder<E> {
    plan: Plan,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> QueryBuilder<E> {
    /// A query over one of the entity's layouts.
    #[inline]
    pub fn new(layout: usize) -> Self {
        Self { plan: Plan::new::<E>(layout), entity: PhantomData }
    }
}

impl<E> QueryBuilder<E> {
    pub(super) fn of_plan(plan: Plan) -> Self {
        Self { plan, entity: PhantomData }
    }

    /// The rows that begin so, as a `V`: the entity, or an index's copy of it.
    #[inline]
    pub fn rows<V, P, A>(self) -> Rows<V, P, A> {
        Rows::new(self.plan)
    }

    /// The one row of these keys, as a `V`.
    #[inline]
    pub fn point<V, W>(self) -> Point<V, W> {
        Point::new(self.plan)
    }
}

impl<E> PartSink for QueryBuilder<E> {
    type Output = ();

    #[inline]
    fn push_partition<K: Kind, N: Encode<K>, const LAST: bool>(&mut self, value: K::Value<'_>) {
        self.plan.push_partition::<K, N>(value, LAST);
    }

    #[inline]
    fn push_row<K: Kind, N: Encode<K>, const LAST: bool>(&mut self, value: K::Value<'_>) {
        self.plan.push_row::<K, N>(value, LAST);
    }
}
