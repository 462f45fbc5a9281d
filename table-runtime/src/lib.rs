//! Typed Azure Table storage: attributes on a struct describe how it is stored, and the derive
//! [`TableEntity`](derive@TableEntity) generates its keys, its indexes and its queries.
//!
//! They run on Azure Table storage (feature `azure`), or on an embedded store in the same process (feature `embedded`, on by
//! default), with the same rules. A slow query is a compile error, or its type shows the cost.
//!
//! ```
//! use table_runtime::{Result, TableEntity, Tables};
//!
//! #[derive(TableEntity)]
//! #[table(name = "Posts")]
//! struct Post {
//!     #[partition_key]
//!     author: String,
//!     #[row_key(reverse)] // the greatest number first
//!     number: u32,
//!     #[index(title, lowercase, same_partition)]
//!     title: String,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     // Or Tables::open("blog.tables")?, or Tables::connect(connection_string)?
//!     let tables = Tables::in_memory()?;
//!     tables.create::<Post>().await?;
//!     for (number, title) in [(1, "Why tables"), (2, "On keys")] {
//!         tables.insert(&Post { author: "Marcus".into(), number, title: title.into() }).await?;
//!     }
//!
//!     let newest = Post::by_key("Marcus").first(&tables).await?.expect("a post");
//!     assert_eq!(newest.title, "On keys");
//!     let found = Post::by_title("Marcus").starts_with("why").all(&tables).await?;
//!     assert_eq!(found[0].number, 1);
//!
//!     tables.modify(Post::key("Marcus", 1), |post| post.title.push('?')).await?;
//!     assert!(Post::by_title("Marcus").eq("Why tables?").first(&tables).await?.is_some());
//!     Ok(())
//! }
//! ```
//!
//! # Where to find what
//!
//! The [`guide`] has a page for each pattern and each task, with running programs and pictures of the stored rows.
//!
//! | I want to … | guide | reference |
//! |---|---|---|
//! | declare a struct | [choose a partition key](guide::partition_key) | [`TableEntity`](derive@TableEntity): all attributes, encodings and options |
//! | order rows, search by beginnings | [newest first](guide::newest_first), [starts with](guide::starts_with) | [`key`]: the encodings and their guarantees |
//! | store a master with its items | [master and items](guide::master_and_items) | [`EntityGroup`](derive@EntityGroup) |
//! | look up by other values | [indexes](guide::indexes), [unique values](guide::unique_values) | [`index`](mod@index): guarantees, requests, crashes |
//! | spread or split a large table | [hash partitions](guide::hash_partitions), [slices](guide::slices) | [`Tables::slices`], [`Tables::drop_slices`] |
//! | read | [queries](guide::queries), [pages](guide::paging) | [`Rows`], [`Point`], [`Projection`](derive@Projection), [`cost`], [`Explain`] |
//! | write | [writes](guide::writing), [bulk loads](guide::bulk_loads) | [`Tables`]: all verbs; [`Transaction`], [`Bulk`] |
//! | answer with errors | [pages of a web API](guide::paging) | [`Error`], [`Error::status`] |
//! | change a struct that has rows | [changes](guide::changing_a_struct), [versions](guide::versions) | [`Tables::create`], [`Tables::backfill`], [`Tables::migrate`], [`assert_layout!`] |
//! | keep a store healthy | [repair](guide::repair) | [`Tables::verify`], [`Tables::repair`] |
//! | test | [tests](guide::testing) | [`testing`] |
//! | run it | [production](guide::production) | [`backend::AzureBuilder`], [`Tables::health`], [`Tables::with_prefix`], [`Tables::with_slow_after`] |
//! | look into a store, move its rows | [the command `tables`](guide::command) | [`inventory`], [`transfer`] |
//! | read tables of other programs | [coming from .NET, Python or keys by hand](guide::coming_from) | [`TableEntity`](derive@TableEntity): `separator`, `raw`, `rename` |
//! | write a backend | | [`backend`], [`testing::conformance`] |
//!
//! # Features
//!
//! | feature | content |
//! |---|---|
//! | `embedded` (default) | the embedded store, on redb: [`Tables::open`], [`Tables::in_memory`] |
//! | `azure` | Azure Table storage, Azurite, Cosmos DB's Table API: [`Tables::connect`]; with account keys, shared access signatures, or credentials of `azure_core` 1.x, such as those of `azure_identity` |
//! | `azure_data_tables` | requests through a pipeline of the Azure SDK 0.21, which is not maintained any more: for programs that have its policies or credentials; the module `backend::sdk` lists the advisories that come with it |
//! | `metrics` | metrics of the requests to the service, for the crate `metrics` |
//! | `entra` | the same as `azure` |
//! | `cli` | the command `tables`, with `azure` and `embedded`: `cargo install table-runtime --features cli` |
//! | `testing` | the module [`testing`]: backends that count, fail or wait, for tests of an application, and the contract of [`backend::Backend`] as test cases |
//! | `uuid` (default), `time`, `chrono`, `jiff` | their types as fields |

mod assert_layout;
pub mod backend;
mod bulk;
mod catalog;
mod codec;
mod column;
pub mod cost;
mod create;
mod entity;
mod error;
mod filter;
mod foreign;
mod guid;
#[cfg(any(doc, doctest))]
pub mod guide;
mod health;
pub mod hints;
pub mod index;
pub mod inventory;
pub mod key;
mod layout;
pub mod limits;
mod maintenance;
mod migrate;
mod modify;
mod observe;
mod pacing;
mod properties;
pub mod property;
mod query;
mod read;
mod retry;
mod row;
mod row_hash;
mod row_json;
mod slices;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod ticks;
mod transaction;
pub mod transfer;
mod value;
mod writable;
mod write;

pub use bulk::{AsKey, Bulk};
pub use catalog::{DropIndex, DroppedIndex};
pub use column::{Column, Filter, IntoFilter, Set, Sets};
pub use create::Create;
pub use entity::{AllowScan, OnePartition, OneVersion, Stored, TableEntity, WithETag};
pub use error::{
    BulkError, BulkFailure, BulkProgress, Error, KeyChangedError, KeyError, LayoutChangedError, LimitError,
    MissingIndexError, OutcomeUnknownError, ParseCursorError, PropertyError, PropertyProblem, QueryError, Refused,
    RequestIds, Result, RowNow, RowsCollideError, ServiceError, UniqueViolationError, UnknownPropertiesError,
    VersionError, VersionProblem,
};
pub use filter::{Condition, Operator};
pub use guid::{Guid, ParseGuidError};
pub use health::Health;
pub use key::{KeyPart, KeyWriter, ToTick};
pub use layout::{
    Holds, IndexInfo, Layout, LayoutInfo, PartInfo, PropertyInfo, PropertyType, Scope, Slice, SliceInfo, SliceUnit,
    WhenInfo,
};
pub use maintenance::{Backfill, Backfilled, Finding, Progress, Repair, Repaired, Verified, Verify};
pub use migrate::{DropMoved, DroppedEntity, Migrate, Migrated};
pub use properties::{DamagedProperties, Properties, PropertiesRef};
pub use property::Property;
pub use query::{
    Bounds, BoxedRows, Copied, Done, Entities, EntityGroup, Explain, Lookup, Opened, OwnedView, PageOf, Point, Primary,
    Projection, Query, Rows, Unique, Variant, View,
};
pub use row::{ETag, ParseETagError, Row, RowId, RowRef, RowSet};
pub use slices::{SliceTime, Sliced};
pub use tables::Tables;
pub use ticks::{ParseTicksError, Ticks};
pub use transaction::Transaction;
pub use value::{Value, ValueRef};
pub use writable::AsEntity;

pub use table_derive::{EntityGroup, KeyPart, Projection, Property, TableEntity};

/// Types and traits in the types of queries, and in messages of the compiler. Programs need none of these names.
///
/// A query that can still be narrowed is a [`Rows`]`<Post, (Part<u32, Plain>, Primary)>`: the next part of its key is a
/// `u32` in its own encoding, and with a value for it the query is a [`Point`].
pub mod types {
    pub use crate::{
        column::{Filterable, Free, HasEquality, HasOrder, InKey, Indexed, Settable},
        entity::{FromOlder, Shared},
        index::indexable::Indexable,
        property::{Bytes, Defaulted, Json, Native, OptionText, Present, SkippedField, Store, Text},
        query::{
            Access, AnyAccess, Borrowed, Complete, HasPart, Keyed, OneEntity, OwnKey, Part, PartitionOrder, PointKey,
            PrefixAccess, Rest, SameAs, Sorted, Spread, Unopened,
        },
        writable::{Deletable, Updatable},
    };
    // Functions of generated code whose bounds messages name.
    #[doc(hidden)]
    pub use crate::{
        entity::{read_older, version_misfit},
        layout::{Member, SliceBy},
        query::{borrow, project, variant},
        read::FoundRow,
    };
}

/// Items that the generated code uses; not part of the public interface.
#[doc(hidden)]
pub mod __private {
    // Generated code names all of these through one alias, and a path of two names takes the compiler less than one of four.
    pub use core::{
        option::Option::{self, None, Some},
        primitive::*,
        result::Result::{Err, Ok},
    };

    pub use crate::{
        Result, RowRef, Value, ValueRef,
        assert_layout::assert_layout,
        codec::{OwnerReader, PropertyWriter, RowReader, point},
        column::*,
        cost,
        entity::*,
        index::indexable::Indexable,
        key::{KeyPart, KeyProblem, KeyReader, KeyWriter, *},
        layout::*,
        property::{Property, *},
        query::*,
        read::FoundRow,
        slices::Sliced,
    };

    // Generated code uses these aliases instead of the trait's own items: the compiler then points at the beginning of
    // the field's type in every place, and reports one message for all of them.

    /// Argument of a query for a field of the type `T`.
    pub type Arg<'a, T> = <T as KeyPart>::Arg<'a>;
    /// Kind of a field of the type `T`.
    pub type KindOf<T> = <T as KeyPart>::Kind;
    /// Type of the part that an index's key holds for a field of the type `T`.
    pub type PartOf<T> = <T as Indexable>::Part;

    /// Result of writing the keys of an entity: `false` if it has no row in the layout.
    pub type WrittenKeys = core::result::Result<bool, KeyProblem>;

    /// Returns the error for a name in a key that is not one of the enum's names.
    #[cold]
    pub fn unknown_name(found: &str, names: &[&str]) -> KeyProblem {
        KeyProblem::unknown_name(found, names)
    }

    /// Returns the position of a stored name among the enum's names.
    pub fn name_from_value(value: Option<ValueRef<'_>>, names: &[&str]) -> Result<usize, PropertyProblem> {
        crate::property::name_from_value(value, names)
    }
}
