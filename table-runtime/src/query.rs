//! Queries: a key narrowed part by part, then run.
//!
//! The derive gives a query its first parts: `T::key(…)` a [`Point`], `T::by_key(…)` [`Rows`]. What is known of a
//! query, its type says: the entity, the key parts that are still open, and how its partitions are reached.

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
pub use projection::{Projection, SameAs, project};
pub use rows::{OneEntity, Rows};
pub use view::View;

use crate::cost::Cost;

/// Anything that reads, and knows what it costs.
pub trait Query {
    /// What it reads.
    type Entity;
    /// What it costs, as a type.
    type Cost: Cost;

    /// What it will ask of the store.
    fn explain(&self) -> Explain;
}
