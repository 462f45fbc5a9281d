//! The way to use Azure Table storage from Rust.
//!
//! A domain struct says by attribute how it is stored: [`TableEntity`](derive@TableEntity) writes its key encoders and
//! its typed queries, and this crate runs them on Azure Table storage (feature `azure`) or on an embedded store in the
//! same process (feature `embedded`, on by default).
//!
//! - [`TableEntity`](derive@TableEntity): the attributes.
//! - [`Tables`]: opening a store, and writing.
//! - [`Point`] and [`Rows`]: reading; [`cost`] has the classes of what a query costs.
//! - [`key`]: how keys are made, and what holds of them.
//! - [`index`]: what indexes promise, what they cost, and what crashes leave of them.
//! - [`Error`]: what can go wrong.
//! - [`backend`]: what stands beneath.

pub mod backend;
mod bulk;
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
pub mod key;
mod layout;
pub mod limits;
mod pacing;
mod properties;
pub mod property;
mod query;
mod read;
mod row;
mod slice_tables;
mod slices;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod ticks;
mod transaction;
mod value;
mod write;

pub use bulk::{AsEntity, Bulk};
pub use column::{Column, Decided, Filter, IntoFilter, Set};
pub use entity::{AllowScan, OnePartition, Stored, TableEntity};
pub use error::{
    BulkError, BulkFailure, BulkProgress, Error, KeyChangedError, KeyError, LayoutChangedError, LimitError,
    OutcomeUnknownError, ParseCursorError, PropertyError, PropertyProblem, QueryError, Result, RowNow,
    RowsCollideError, ServiceError, UniqueViolationError,
};
pub use filter::{Condition, Operator};
pub use guid::{Guid, ParseGuidError};
pub use index::{Backfill, Backfilled, Finding, Progress, Repair, Repaired, Verify};
pub use key::{KeyPart, KeyWriter};
pub use layout::{Holds, IndexInfo, Layout, LayoutInfo, PartInfo, PropertyInfo, Scope, Slice, SliceInfo, SliceUnit};
pub use properties::{DamagedProperties, Properties, PropertiesRef};
pub use property::Property;
pub use query::{
    Bounds, Copied, Done, Entities, EntityGroup, Explain, Lookup, Opened, PageOf, Point, Primary, Projection, Query,
    Rows, Unique, Variant, View,
};
pub use row::{ETag, ParseETagError, Row, RowId, RowRef, RowSet};
pub use slices::{SliceTime, Sliced};
pub use tables::Tables;
pub use ticks::{ParseTicksError, Ticks};
pub use transaction::Transaction;
pub use value::{Value, ValueRef};

pub use table_derive::{EntityGroup, KeyPart, Projection, Property, TableEntity};

/// What the derives write calls to: no part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        Result, RowRef, Value, ValueRef,
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

    // Of these, not of the trait's own items, generated code is made: the compiler then points at the beginning of the
    // field's type in every place, and has one message for all of them.

    /// The argument of a query for a field of the type `T`.
    pub type Arg<'a, T> = <T as KeyPart>::Arg<'a>;
    /// The kind of a field of the type `T`.
    pub type KindOf<T> = <T as KeyPart>::Kind;
    /// What stands in an index's key for a field of the type `T`.
    pub type PartOf<T> = <T as Indexable>::Part;

    /// A name in a key that is none of an enum's.
    #[cold]
    pub fn unknown_name(found: &str, names: &[&str]) -> KeyProblem {
        KeyProblem::unknown_name(found, names)
    }

    /// The place of a stored name among an enum's.
    pub fn name_from_value(value: Option<ValueRef<'_>>, names: &[&str]) -> Result<usize, PropertyProblem> {
        crate::property::name_from_value(value, names)
    }
}
