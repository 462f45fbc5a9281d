//! The entity of a query.

use super::{Point, Rows};
use crate::Stored;

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
