//! Queries: the caller narrows a key part by part, then runs the query.
//!
//! Functions from the derive start a query with its first key parts: `T::key(…)` returns a [`Point`], `T::by_key(…)`
//! returns [`Rows`]. The type of a query states its entity, the key parts that are still open, and how it reaches its
//! partitions.

mod access;
mod bounds;
mod boxed;
mod builder;
mod copied;
mod explain;
mod group;
mod pages;
mod partitions;
mod parts;
mod point;
mod projection;
mod returned;
mod rows;
mod sas;
mod skip;
mod view;

pub use access::{
    Access, AnyAccess, Complete, HashPartitioned, InHashPartition, Opened, PrefixAccess, Spread, Unopened,
};
pub use bounds::Bounds;
pub use boxed::BoxedRows;
pub use builder::QueryBuilder;
pub use copied::Copied;
pub use explain::Explain;
pub use group::{EntityGroup, Keyed, PartitionParts, SharedParts, group_rows};
pub use pages::{Entities, PageOf};
pub use partitions::PartitionOrder;
pub use parts::{Done, HasPart, Part, Primary, Rest, Sorted, Unique};
pub use point::{Lookup, OwnKey, Point, PointKey};
pub use projection::{Borrowed, Lacks, Projection, SameAs, Selectable, borrow, check_borrowed, project, selected_at};
pub use returned::{ReturnsNothing, ReturnsNothingOfRow};
pub use rows::{OneEntity, Rows};
pub use skip::SkipUnreadable;
pub use view::{BorrowsFromRows, HasEntity, OwnedView, View, WithoutETag};

use table_model::cost::Cost;
use table_store::{Error, Result, backend::BoxFuture};

use crate::client::{sealed::Sealed, tables::Tables};

/// A read of the store whose cost is known: a [`Point`] or [`Rows`].
///
/// A function that takes any query can demand a cost class, and run the query:
///
/// ```
/// use table_runtime::{Query, Result, TableEntity, Tables, cost::{AtMost, Range}};
///
/// #[derive(TableEntity)]
/// struct Post {
///     #[partition_key]
///     author: String,
///     #[row_key]
///     number: u32,
/// }
///
/// /// Returns the posts of a page. A query that reads more rows than it returns does not compile.
/// async fn listed<Q>(tables: &Tables, query: Q) -> Result<Vec<Q::Item>>
/// where
///     Q: Query<Entity = Post, Cost: AtMost<Range>>,
/// {
///     query.all(tables).await
/// }
/// # async fn example(tables: Tables) -> Result<()> {
/// listed(&tables, Post::by_key("Marcus").take(10)).await?;
/// # Ok(()) }
/// ```
pub trait Query: Sized + Sealed {
    /// Entity that the query reads.
    type Entity;
    /// Result for one row, such as `Stored<Post>`.
    type Item: Send + 'static;
    /// Cost of the query, as a type.
    type Cost: Cost;

    /// Describes the requests that the query will send to the store.
    fn explain(&self) -> Explain;

    /// Returns the query without its types, on which everything can be run.
    fn boxed(self) -> BoxedRows<Self::Item>;

    /// Reads all rows, as [`Rows::all`] does; at most one for a point.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`].
    fn all(self, tables: &Tables) -> BoxFuture<'_, Result<Vec<Self::Item>>> {
        self.boxed().all(tables)
    }

    /// Reads the first row, as [`Rows::first`] does; `None` if there is none.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`].
    fn first(self, tables: &Tables) -> BoxFuture<'_, Result<Option<Self::Item>>> {
        self.boxed().first(tables)
    }

    /// Counts the rows, as [`Rows::count`] does.
    ///
    /// # Errors
    /// Fails with the errors of [`Rows::all`].
    fn count(self, tables: &Tables) -> BoxFuture<'_, Result<usize>> {
        self.boxed().count(tables)
    }

    /// Goes on after a row that cannot be read, and passes its error to `skip`: see [`Rows::skip_unreadable`].
    fn skip_unreadable<'f>(self, skip: impl FnMut(Error) + Send + 'f) -> SkipUnreadable<'f, Self::Item> {
        self.boxed().skip_unreadable(skip)
    }

    /// Returns a stream of the rows, as [`Rows::stream`] does.
    fn stream(self, tables: &Tables) -> Entities<Self::Item> {
        self.boxed().stream(tables)
    }
}
