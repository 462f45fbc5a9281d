//! Typed Azure Table storage.

pub mod backend;
mod cursor;
mod error;
mod filter;
mod guid;
pub mod key;
pub mod limits;
mod properties;
mod row;
mod ticks;
mod value;

pub use cursor::ParseCursorError;
pub use error::{
    Error, KeyChangedError, KeyError, LimitError, OutcomeUnknownError, PropertyError, QueryError, Result, RowNow,
    ServiceError,
};
pub use filter::{Condition, Operator};
pub use guid::{Guid, ParseGuidError};
pub use properties::{DamagedProperties, Properties, PropertiesRef};
pub use row::{ETag, Row, RowId, RowRef, RowSet};
pub use ticks::{ParseTicksError, Ticks};
pub use value::{Value, ValueRef};
