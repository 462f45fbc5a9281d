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
//! | store long texts and files | [large values](guide::large_values) | [`TableEntity`](derive@TableEntity): `large` |
//! | spread or split a large table | [hash partitions](guide::hash_partitions), [slices](guide::slices) | [`Tables::slices`], [`Tables::drop_slices`] |
//! | read | [queries](guide::queries), [pages](guide::paging) | [`Rows`], [`Point`], [`Projection`](derive@Projection), [`cost`], [`Explain`] |
//! | write | [writes](guide::writing), [bulk loads](guide::bulk_loads) | [`Tables`]: all verbs; [`Transaction`], [`Bulk`] |
//! | let entities expire, keep a bin | [expiry and the bin](guide::lifecycle) | [`Tables::sweep`], [`Tables::soft_delete`], [`Tables::restore`] |
//! | let workers share jobs | [work queues](guide::work_queues) | [`Rows::lease`], [`Rows::hash_partition`] |
//! | react to writes | [events](guide::events) | [`TableEntity`](derive@TableEntity): `events`; [`Tables::relay`], [`Tables::require_events`] |
//! | answer with errors | [pages of a web API](guide::paging) | [`Error`], [`Error::status`], [`axum`](mod@axum) |
//! | change a struct that has rows | [changes](guide::changing_a_struct), [versions](guide::versions) | [`Tables::create`], [`Tables::backfill`], [`Tables::migrate`], [`assert_layout!`] |
//! | keep a store healthy | [repair](guide::repair) | [`Tables::verify`], [`Tables::repair`]; [`EntitySet`]: all entities by one call |
//! | test | [tests](guide::testing) | [`testing`] |
//! | run it | [production](guide::production) | [`backend::AzureBuilder`], [`Tables::health`], [`Tables::with_prefix`], [`Tables::with_slow_after`] |
//! | look into a store, move its rows | [the command `tables`](guide::command) | [`inventory`], [`transfer`] |
//! | read tables of other programs | [coming from .NET, Python or keys by hand](guide::coming_from) | [`TableEntity`](derive@TableEntity): `separator`, `raw`, `rename` |
//! | understand a message of the compiler | [compiler messages](guide::compiler_messages) | |
//! | write a backend | | [`backend`], [`testing::conformance`] |
//!
//! # Features
//!
//! | feature | content |
//! |---|---|
//! | `embedded` (default) | the embedded store, on redb: [`Tables::open`], [`Tables::in_memory`] |
//! | `azure` | Azure Table storage, Azurite, Cosmos DB's Table API: [`Tables::connect`]; with account keys, shared access signatures, or credentials of `azure_core` 1.x, such as those of `azure_identity` |
//! | `azure_data_tables` | requests through a pipeline of the Azure SDK 0.21, which is not maintained any more: for programs that have its policies or credentials; the module `backend::sdk` lists the advisories that come with it |
//! | `axum` | answers of a web service on `axum` 0.8: the module `axum` |
//! | `metrics` | metrics of the requests to the service, for the crate `metrics` |
//! | `entra` | the same as `azure` |
//! | `testing` | the module [`testing`]: backends that count, fail or wait, for tests of an application, and the contract of [`backend::Backend`] as test cases |
//! | `uuid` (default), `time`, `chrono`, `jiff` | their types as fields |
//! | `decimal` | `rust_decimal::Decimal` as a field, and with `scale = N` as a part of keys |

#![allow(unreachable_pub, reason = "items of private folders are `pub`: what is exported is in this file")]

// The floors. `docs/architecture.md` has their order: a floor uses only those below it.
mod admin;
mod client;
mod query;
mod read;
mod relay;
mod tools;
mod write;

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(feature = "testing")]
pub mod testing;

// Above the floors: names that users of other libraries type, and the messages about them.
#[doc(hidden)]
pub mod hints;

pub use client::{
    stored::{Stored, WithETag},
    tables::Tables,
};
#[doc(no_inline)]
pub use filter::Filter;
pub use query::{BoxedRows, Copied, EntityGroup, Explain, PageOf, Point, Projection, Query, Rows};
pub use table_derive::{EntityGroup, KeyPart, Projection, Property, TableEntity};
#[doc(inline)]
pub use table_model::{EntitySet, KeyPart, Layout, Property, TableEntity};
#[doc(inline)]
pub use table_store::{ETag, Error, Guid, Result, Ticks, Value};
pub use write::{bulk::Bulk, transaction::Transaction};

#[doc(inline)]
pub use table_model::{cost, key, property};
#[doc(inline)]
pub use table_store::limits;
#[doc(inline)]
pub use tools::{inventory, transfer};
#[doc(inline)]
pub use write::index;

/// What the variants of [`Error`] hold, and the errors of parsers.
pub mod error {
    #[doc(inline)]
    pub use table_store::{
        DamagedProperties, ParseETagError, ParseGuidError, ParseTicksError,
        error::{
            BulkError, BulkFailure, KeyChangedError, KeyError, KeyProblem, LayoutChangedError, LimitError,
            MissingIndexError, OutcomeUnknownError, ParseCursorError, PropertyError, PropertyProblem, QueryError,
            Refused, RequestIds, RowNow, RowsCollideError, ServiceError, UniqueViolationError, UnknownPropertiesError,
            VersionError, VersionProblem,
        },
    };
}

/// Rows without entities, as a store has them.
pub mod row {
    #[doc(inline)]
    pub use table_store::{Properties, PropertiesRef, Row, RowId, RowRef, RowSet, ValueRef};
}

/// What a [`Layout`] consists of.
pub mod layout {
    #[doc(inline)]
    pub use table_model::{
        EventContent, Holds, IndexInfo, LayoutInfo, Lifecycle, PartInfo, PropertyInfo, Scope, SliceInfo, SliceUnit,
        StoredField, WhenField, WhenInfo,
    };
    #[doc(inline)]
    pub use table_store::PropertyType;
}

/// Conditions on properties and changes of properties, as the closures of [`Rows::filter`] and [`Tables::patch`] make them
/// of columns.
pub mod filter {
    #[doc(inline)]
    pub use table_model::{Column, Filter, IntoFilter, Set, Sets, property::IntoArg};
    #[doc(inline)]
    pub use table_store::{Condition, Operator};
}

/// Writes of any number of entities: [`Bulk`].
pub mod bulk {
    pub use crate::write::writable::AsKey;
    #[doc(inline)]
    pub use table_store::error::BulkProgress;
}

/// Slices: the tables of an entity that has one for each year, month or day.
pub mod slices {
    pub use crate::admin::slices::{DropSlices, SliceTime, Sliced, SlicesBefore};
    #[doc(inline)]
    pub use table_model::Slice;
}

/// What [`Tables::create`], [`Tables::health`], [`Tables::drop_index`] and the jobs over all rows of an entity return:
/// [`Tables::verify`], [`Tables::repair`], [`Tables::backfill`] and [`Tables::sweep`].
pub mod jobs {
    pub use crate::admin::{
        catalog::{DropIndex, DroppedIndex},
        create::Create,
        health::Health,
        jobs::{
            Backfill, Backfilled, Comparing, DeleteAll, Discarding, Finding, Job, JobKind, OfPartitions, Progress,
            Rehearsable, Repair, Repaired, Resumable, Sharded, Sweep, Swept, Verified, VerifiedSample, Verify,
        },
        sets::OfEntities,
    };
}

/// The events that writes of an entity with `#[table(events)]` record, and the [relays](Tables::relay) that deliver them.
pub mod events {
    pub use crate::relay::{Deliver, Delivered, Event, Relay};
    #[doc(inline)]
    pub use table_model::EventChange;
}

/// What [`Tables::migrate`] and [`Tables::drop_moved`] return.
pub mod migrate {
    pub use crate::admin::migrate::{DropMoved, DroppedEntity, Migrate, Migrated, NewStruct};
}

pub mod backend {
    //! Narrow trait that every store implements: rows and scans, no entities.
    //!
    //! A backend receives only valid input: [`Tables`](crate::Tables) first checks keys, rows, groups and scans against the
    //! service's limits, which are the same for every backend.
    //!
    //! # The feature `azure`
    //! The client of the service is this crate's own, on `reqwest`, `rustls` with `ring`, `hmac` and `sha2`. Credentials of
    //! Microsoft Entra ID are those of `azure_core` 1.x. Its packages had no advisories in the
    //! [advisory database of Rust](https://rustsec.org) of August 2026.
    //!
    //! The feature `azure_data_tables` adds a second way to sign and send requests: the pipeline of the Azure SDK 0.21, with a
    //! program's own policies (`AzureBuilder::sdk`). That SDK is not maintained any more. The module `sdk` lists the advisories
    //! that come with it.

    #[cfg(feature = "azure_data_tables")]
    #[doc(inline)]
    pub use table_azure::sdk;
    #[cfg(feature = "azure")]
    #[doc(inline)]
    pub use table_azure::{AccessToken, AzureBackend, AzureBuilder};
    #[cfg(feature = "embedded")]
    #[doc(inline)]
    pub use table_embedded::{EmbeddedBackend, InMemoryBackend};
    #[doc(inline)]
    pub use table_store::backend::{
        Action, Backend, BackendExt, BoxFuture, Checks, Clock, Commits, Continuation, Description, FailedGroup, Grant,
        Group, IfMatch, InProcess, KeyRange, OnlyOne, Operation, Page, Partitions, Reach, ReadRequest, ReadTarget,
        Reader, RemoteService, Replication, Sas, SasPermissions, Scan, Sleep, StoreView, SystemClock, TableRequest,
        Written,
    };
}

/// Types and traits in the types of queries, and in messages of the compiler. Most programs need none of these names.
///
/// A query that can still be narrowed is a [`Rows`]`<Post, (Part<u32, Plain>, Primary)>`: the next part of its key is a
/// `u32` in its own encoding, and with a value for it the query is a [`Point`].
pub mod types {
    pub use crate::{
        query::{
            Access, AnyAccess, Borrowed, BorrowsFromRows, Bounds, Complete, Done, Entities, HasEntity, HasPart,
            HashPartitioned, InHashPartition, Keyed, Lacks, Lookup, OneEntity, Opened, OwnKey, OwnedView, Part,
            PartitionOrder, PointKey, PrefixAccess, Primary, Rest, ReturnsNothing, ReturnsNothingOfRow, SameAs,
            Selectable, SkipUnreadable, Sorted, Spread, Unique, Unopened, View, WithoutETag,
        },
        write::{
            bin::ToBin,
            bulk::{Deletions, WholeEntities},
            group::Variant,
            writable::{AsEntity, Deletable, NewEntity, Updatable},
        },
    };
    #[doc(inline)]
    pub use table_model::{
        AllowScan, Certain, Each, Filterable, Free, FromOlder, HasBin, HasEquality, HasEvents, HasOrder, InKey,
        Indexable, Indexed, Nameable, Settable, Shared, SoftDelete, Sweepable, Unfiltered,
        property::{
            ByRef, ByValue, Bytes, Defaulted, DisplayText, Json, Native, NoValue, OneProperty, OptionText, Partial,
            Passing, Present, Shape, Single, SkippedField, Store,
            shape::{In, OptionOf, Root},
        },
    };
    // Functions of generated code whose bounds messages name.
    #[doc(hidden)]
    pub use crate::{
        query::{borrow, project},
        read::FoundRow,
    };
    #[doc(hidden)]
    pub use table_model::unstable::{
        entity::read_older,
        layout::{Member, SliceBy},
    };
}

/// Items that the generated code uses; not part of the public interface.
#[doc(hidden)]
pub mod __private {
    // Generated code names all of these through one alias, and a path of two names takes the compiler less than one of four.
    pub use std::borrow::Cow;

    pub use core::{
        option::Option::{self, None, Some},
        primitive::*,
        result::Result::{Err, Ok},
    };

    pub use crate::{
        admin::{
            assert_layout::{assert_layouts, assert_layouts_of},
            slices::Sliced,
        },
        client::stored::{Stored, StoredState},
        query::{
            Access, Borrowed, BorrowsFromRows, Bounds, Copied, Done, EntityGroup, Keyed, Lookup, Opened, OwnedView,
            Part, PartitionOrder, PartitionParts, Point, Primary, Projection, QueryBuilder, Rows, Selectable,
            SharedParts, Spread, Unique, Unopened, View, borrow, check_borrowed, group_rows, project, selected_at,
        },
        read::FoundRow,
        write::{
            bulk::{Deletion, WholeEntities, member_deletion},
            group::Variant,
            index::Schema,
        },
    };
    pub use table_model::{
        AllowScan, Column, Each, EventContent, Filter, Free, HasBin, HasEvents, Holds, InKey, IndexInfo, Indexable,
        Indexed, KeyPart, Layout, LayoutInfo, Lifecycle, PartInfo, Property, PropertyInfo, Scope, Slice, SliceInfo,
        SliceUnit, SoftDelete, StoredField, Sweepable, TableEntity, Unfiltered, WhenField, WhenInfo, cost,
        key::{
            Decode, Encode, First, Fits, Hash, Kind, Lossless, Lossy, Lowercase, Pad, Plain, Raw, Reverse, ReverseTime,
            Scale, Separated, Time, Uppercase, kind,
        },
        property::{
            Always, ByEquality, ByValue, Defaulted, DisplayText, Fields, Json, Large, Maybe, Native, NoValue, Opaque,
            OptionText, Partial, Passed, Passing, PropertyProblem, Scaled, Shape, Single, Store, large, nested,
            shape::{At, Fresh, HasPresence, In, IsAlways, OptionOf, Place, Root, Step, reached},
        },
        unstable::{
            Valid,
            codec::{ElementKeys, EntityReader, OwnerReader, PropertyWriter, point},
            column::{IndexedPart, key_column, part_column, property_column},
            entity::{EntityInfo, ReadEntity, StoredRow, WriteEntity, check_older, owner_part, read_older},
            exists,
            key::{KeyReader, KeyWriter},
            layout::{Member, PartType, changed_aspects, check_member},
            lifecycle::{SetTime, is_optional_time, is_time},
            property::{name_from_value, skipped},
        },
    };
    pub use table_store::{PropertyType, Result, RowRef, Value, ValueRef, error::KeyProblem};

    // Generated code uses these aliases instead of the trait's own items: the compiler then points at the beginning of
    // the field's type in every place, and reports one message for all of them.

    /// Argument of a query for a field of the type `T`.
    pub type Arg<'a, T> = <T as KeyPart>::Arg<'a>;
    /// Kind of a field of the type `T`.
    pub type KindOf<T> = <T as KeyPart>::Kind;
    /// Type of the part that an index's key holds for a field of the type `T`.
    pub type PartOf<T> = <T as Indexable>::Part;
    /// Type of the part that the key of an index with `each` holds for a field of the type `T`.
    pub type ElementOf<T> = <T as Each>::Element;
    /// Order of a field of the type `T` that is stored in the way `S`.
    pub type OrderOf<S, T> = <S as Store<T>>::Order;

    /// Result of writing the keys of an entity: `false` if it has no row in the layout.
    pub type WrittenKeys = core::result::Result<bool, KeyProblem>;

    /// Returns the error for a name in a key that is not one of the enum's names.
    #[cold]
    pub fn unknown_name(found: &str, names: &[&str]) -> KeyProblem {
        KeyProblem::unknown_name(found, names)
    }
}
