//! What the derive begins queries with.

use std::marker::PhantomData;

use super::{Point, Rows, plan::Plan};
use crate::{
    TableEntity,
    key::{Encode, KeyPart, Kind},
};

/// A query while the derive's functions give it its first parts.
pub struct Opening<E> {
    plan: Plan,
    entity: PhantomData<fn() -> E>,
}

/// The value of the field type `T`.
type Value<'a, T> = <<T as KeyPart>::Kind as Kind>::Value<'a>;

impl<E: TableEntity> Opening<E> {
    /// A query over one of the entity's layouts.
    #[inline]
    pub fn new(layout: usize) -> Self {
        Self { plan: Plan::new::<E>(layout), entity: PhantomData }
    }
}

impl<E> Opening<E> {
    /// Gives the next part of the partition key its value.
    #[inline]
    pub fn partition<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(mut self, value: Value<'_, T>) -> Self {
        self.plan.push_partition::<T::Kind, N>(value, LAST);
        self
    }

    /// Gives the next part of the row key its value.
    #[inline]
    pub fn row<T: KeyPart, N: Encode<T::Kind>, const LAST: bool>(mut self, value: Value<'_, T>) -> Self {
        self.plan.push_row::<T::Kind, N>(value, LAST);
        self
    }

    /// The rows that begin so.
    #[inline]
    pub fn rows<P, A>(self) -> Rows<E, P, A> {
        Rows::new(self.plan)
    }

    /// The one row of these keys.
    #[inline]
    pub fn point<V>(self) -> Point<E, V> {
        Point::new(self.plan)
    }
}
