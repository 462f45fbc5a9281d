//! Entity type of a query.

use super::{Point, Rows};
use crate::Stored;

/// A value that has an entity type: any query, and a reference to the stored entity itself.
pub trait OfEntity {
    /// Type of the entity.
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
