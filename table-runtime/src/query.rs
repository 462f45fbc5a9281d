//! Queries: the caller narrows a key part by part, then runs the query.
//!
//! Functions from the derive start a query with its first key parts: `T::key(…)` returns a [`Point`], `T::by_key(…)`
//! returns [`Rows`]. The type of a query states its entity, the key parts that are still open, and how it reaches its
//! partitions.

mod access;
mod bounds;
mod builder;
mod copied;
mod explain;
mod group;
mod of_entity;
mod pages;
mod parts;
mod point;
mod projection;
mod rows;
mod view;

pub use access::{Access, Complete, Opened, PrefixAccess, Reach, Spread, Unopened};
pub use bounds::Bounds;
pub use builder::QueryBuilder;
pub use copied::Copied;
pub use explain::Explain;
pub use group::{EntityGroup, Keyed, PartitionParts, SharedParts, Variant, group_rows, variant};
pub use of_entity::OfEntity;
pub use pages::{Entities, PageOf};
pub use parts::{Done, HasPart, OnePoint, Part, Primary, Rest, Sorted, Unique};
pub use point::{Lookup, OwnKey, Point};
pub use projection::{Borrowed, InRow, Lends, Projection, SameAs, Unchanged, borrow, project};
pub use rows::{OneEntity, Rows};
pub use view::{OwnedView, View};

use crate::cost::Cost;

/// A read of the store whose cost is known.
pub trait Query {
    /// Entity that the query reads.
    type Entity;
    /// Cost of the query, as a type.
    type Cost: Cost;

    /// Describes the requests that the query will send to the store.
    fn explain(&self) -> Explain;
}
