//! Rows and requests of `table-runtime`, without entities: values and properties, rows, errors, limits, conditions, and the
//! trait [`Backend`](backend::Backend) of the stores.
//!
//! Programs use the crate `table-runtime`, which exports what is public here under its own name.

#![allow(unreachable_pub, reason = "items of private folders are `pub`: what is exported is in this file")]

#[cfg(feature = "axum")]
pub mod axum;
pub mod backend;
pub mod error;
mod filter;
mod guid;
mod line;
mod properties;
mod property_type;
mod row;
mod ticks;
mod value;

pub use error::{Error, Result};
pub use filter::{Condition, Operator};
pub use guid::{Guid, ParseGuidError};
pub use line::{Line, TableRow};
pub use properties::{DamagedProperties, Properties, PropertiesRef};
pub use property_type::PropertyType;
pub use row::{ETag, ParseETagError, Row, RowId, RowRef, RowSet};
pub use ticks::{ParseTicksError, Ticks};
pub use value::{Value, ValueRef};

pub mod limits {
    //! The service's limits, which are checked in the same way for every backend before anything is sent.
    //!
    //! The limits are those of *Understanding the Table service data model* and *Performing entity group transactions* in
    //! Microsoft's documentation.

    pub use crate::unstable::limits::{
        ADDRESS_BYTES, BINARY_BYTES, COMPARISONS, KEY_UNITS, NAME_UNITS, OPERATIONS, PAGE, PROPERTIES, ROW_BYTES,
        STRING_UNITS, TRANSACTION_BYTES, check_key, check_row, check_table_name, forbidden_in_keys,
    };
}

/// Items that the other crates of `table-runtime` use, and users do not. They may change in every release.
#[doc(hidden)]
pub mod unstable {
    pub mod client;
    pub mod limits;
    pub mod observe;
    pub mod order;
    mod prefix;
    mod progress;
    pub mod retry;
    pub mod row_json;

    pub use progress::ScanProgress;

    #[cfg(feature = "axum")]
    pub use crate::axum::json as json_answer;

    pub use crate::{
        error::problem::{After, one_of},
        filter::Size,
        guid::RandomGuids,
        line::write_row,
        properties::{PropertyName, text},
        property_type::{Reads, cannot_read, lost_variants, reads, reads_first_part, replaces},
        row::RowKeys,
        ticks::{civil_from_days, days_from_civil, unix},
    };
}
