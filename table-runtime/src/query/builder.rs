//! Builder with which generated code starts a query.

use std::marker::PhantomData;

use table_model::{
    TableEntity,
    key::{Encode, Kind, PartSink},
    unstable::SealedSink,
};

use super::{Point, Rows};
use crate::read::Plan;

/// A query that is being built: functions from the derive add its first key parts.
pub struct QueryBuilder<E> {
    pub(super) plan: Plan,
    entity: PhantomData<fn() -> E>,
}

impl<E> SealedSink for QueryBuilder<E> {}

impl<E: TableEntity> QueryBuilder<E> {
    /// Returns a query over one of the entity's layouts.
    #[inline]
    pub fn new(layout: usize) -> Self {
        Self { plan: Plan::new::<E>(layout), entity: PhantomData }
    }
}

impl<E> QueryBuilder<E> {
    pub(super) fn of_plan(plan: Plan) -> Self {
        Self { plan, entity: PhantomData }
    }

    /// Returns the query for the rows whose keys begin with these parts, as a `V`: the entity, or a copy in an index.
    #[inline]
    pub fn rows<V, P, A>(self) -> Rows<V, P, A> {
        Rows::new(self.plan)
    }

    /// Returns the query for the one row with these keys, as a `V`.
    #[inline]
    pub fn point<V, W>(self) -> Point<V, W> {
        Point::new(self.plan)
    }
}

impl<E> PartSink for QueryBuilder<E> {
    type Output = ();

    #[inline]
    fn push_partition<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) {
        self.plan.push_partition::<K, N>(value, last);
    }

    #[inline]
    fn push_row<K: Kind, N: Encode<K>>(&mut self, value: K::Value<'_>, last: bool) {
        self.plan.push_row::<K, N>(value, last);
    }
}
