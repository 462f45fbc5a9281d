//! Azure Table storage for Rust.
//!
//! Attributes on a domain struct describe how it is stored. The derive [`TableEntity`](derive@TableEntity) generates
//! the key encoders and the typed queries of the struct. This crate runs the queries on Azure Table storage (feature
//! `azure`) or on an embedded store in the same process (feature `embedded`, on by default).
//!
//! - [`TableEntity`](derive@TableEntity): the attributes.
//! - [`Tables`]: opens a store, and writes to it.
//! - [`Point`] and [`Rows`]: read entities; [`cost`] has the cost classes of queries.
//! - [`key`]: the encoding of keys, and its guarantees.
//! - [`index`]: the guarantees and costs of indexes, and their state after a crash.
//! - [`inventory`], [`transfer`]: what a store has, and moving its rows, without the entities' types; the command `tables`
//!   (feature `cli`) is made of them.
//! - [`Error`]: the errors.
//! - [`backend`]: the interface to the stores.

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
mod slice_tables;
mod slices;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod ticks;
mod transaction;
pub mod transfer;
mod value;
mod write;

pub use bulk::{AsEntity, AsKey, Bulk};
pub use catalog::{DropIndex, DroppedIndex};
pub use column::{Column, Decided, Filter, IntoFilter, Set};
pub use create::Create;
pub use entity::{AllowScan, OnePartition, OneVersion, Stored, TableEntity, WithETag};
pub use error::{
    BulkError, BulkFailure, BulkProgress, Error, KeyChangedError, KeyError, LayoutChangedError, LimitError,
    MissingIndexError, OutcomeUnknownError, ParseCursorError, PropertyError, PropertyProblem, QueryError, Result,
    RowNow, RowsCollideError, ServiceError, UniqueViolationError, UnknownPropertiesError, VersionError, VersionProblem,
};
pub use filter::{Condition, Operator};
pub use guid::{Guid, ParseGuidError};
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

pub use table_derive::{EntityGroup, KeyPart, Projection, Property, TableEntity};

/// Items that the generated code uses; not part of the public interface.
#[doc(hidden)]
pub mod __private {
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
