//! What the derive begins queries with.

use std::marker::PhantomData;

use super::{Point, Rows, View, plan::Plan};
use crate::key::{Encode, Kind};

/// A query while the derive's functions give it its first parts.
pub struct Opening<V> {
    plan: Plan,
    view: PhantomData<fn() -> V>,
}

impl<V: View> Opening<V> {
    /// A query over one of the entity's layouts.
    #[inline]
    pub fn new(layout: usize) -> Self {
        Self { plan: Plan::new::<V::Entity>(layout), view: PhantomData }
    }
}

impl<V> Opening<V> {
    /// Gives the next part of the partition key its value.
    #[inline]
    pub fn partition<K: Kind, N: Encode<K>, const LAST: bool>(mut self, value: K::Value<'_>) -> Self {
        self.plan.push_partition::<K, N>(value, LAST);
        self
    }

    /// Gives the next part of the row key its value.
    #[inline]
    pub fn row<K: Kind, N: Encode<K>, const LAST: bool>(mut self, value: K::Value<'_>) -> Self {
        self.plan.push_row::<K, N>(value, LAST);
        self
    }

    /// The rows that begin so.
    #[inline]
    pub fn rows<P, A>(self) -> Rows<V, P, A> {
        Rows::new(self.plan)
    }

    /// The one row of these keys.
    #[inline]
    pub fn point<W>(self) -> Point<V, W> {
        Point::new(self.plan)
    }
}
