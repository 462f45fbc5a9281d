//! Moving rows: out of a store, into a store, and between stores, without the entities' types.
//!
//! [`Tables::dump`](crate::Tables::dump) writes rows as lines of JSON, and [`Tables::load`](crate::Tables::load) reads
//! them; [`Tables::copy_to`](crate::Tables::copy_to) copies to another store. Programs make others of a [`RowReader`], a
//! [`RowWriter`] and of [`Line`], the form of a row in a file. All of them treat the rows of entities, of indexes and of the catalog alike, so
//! a copy has the same indexes in the same states. [Events](crate::guide::events) that no relay has delivered are left out, with
//! their marks, unless they are [selected](Selection::with_events): the relays of both stores would deliver them.
//!
//! # The lines
//!
//! ```text
//! {"@table":"Posts"}
//! {"@table":"Posts","PartitionKey":"Marcus","RowKey":"1","Title":"Hello","Likes@odata.type":"Edm.Int64","Likes":"5"}
//! {"@rows":1}
//! ```
//!
//! The first line creates a table, also if it has no rows. A row has the form that the service has for it: the type of a
//! property is its annotation, or else is evident from the value. It has no ETag and no time stamp, because the store that
//! it is written to assigns them. The last line has the number of rows, so that a file that was cut is noticed.
//!
//! # Consistency
//!
//! A store with [snapshots](crate::backend::StoreView::Snapshot), such as the embedded one, is read as of one moment. The
//! service has no snapshots: each page is read at another moment, in key order. Rows that are written meanwhile may be in
//! the dump or not, so an entity may be there without its row in another partition, or the other way round.
//! [`verify`](crate::Tables::verify) reports this in the copy, and [`repair`](crate::Tables::repair) fixes it.
//!
//! The catalog is written last, so that a copy that is not complete has no index that looks ready. If programs changed
//! the catalog during the dump, it ends with [`TransferError::CatalogChanged`].

mod copy;
mod dump;
mod load;
mod reader;
mod source;
mod writer;

use std::io;

pub use copy::{CopiedRows, CopyRows};
pub use dump::Dump;
pub use load::{Load, Loaded};
pub use reader::{ReadPart, RowReader, Selection};
#[doc(inline)]
pub use table_store::{Line, TableRow};
pub use writer::RowWriter;

use table_model::TableEntity;
use table_store::{
    Error, PropertiesRef, RowId, RowRef, ValueRef,
    unstable::{observe::ObservedError, row_json},
};

use crate::client::tables::Record;

/// The error of a transfer of rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// A store returned this error.
    #[error(transparent)]
    Store(#[from] Error),
    /// The file or the writer returned this error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is no line of a dump, or its row cannot be written. The rows before it may have been written.
    #[error("line {number}: {problem}")]
    Line {
        /// The number of the line, from 1.
        number: u64,
        /// The problem.
        problem: String,
    },
    /// A stored property, which another program wrote, has a value of none of the service's types, or a name with `@` or
    /// `.`, such as `odata.kind`. It cannot be copied without a loss.
    #[error("{row}: the property `{property}` cannot be copied: {found}")]
    Unreadable {
        /// The row.
        row: Box<RowId>,
        /// The property.
        property: String,
        /// Description of the value, or of the name.
        found: String,
    },
    /// Programs changed the catalog, the table `TableLayouts`, while the rows were read: an index may be recorded as
    /// ready although its rows were not all read. Read the rows again.
    #[error("the catalog {0} was changed while the rows were read; begin again")]
    CatalogChanged(String),
    /// The store that the rows are written to has recorded other layouts, or other states of indexes. Nothing was
    /// written to its catalog. Write to an empty store, or to one with the same catalog.
    #[error("the store has other records than these in its catalog: {row}; load into an empty store")]
    CatalogDiffers {
        /// The first record that differs.
        row: Box<RowId>,
    },
    /// The number of rows is not the one that the last line states, or there is no such line: the file was cut.
    #[error(
        "the lines end after {found} rows without a last line that states this number: the file was cut or changed"
    )]
    Incomplete {
        /// The number of rows that were written.
        found: u64,
    },
    /// A cursor is damaged.
    #[error("the cursor is damaged")]
    Cursor,
}

impl ObservedError for TransferError {
    fn of_store(&self) -> Option<&Error> {
        if let Self::Store(error) = self { Some(error) } else { None }
    }
}

/// Checks that each property of a row that was read from the table can be written.
fn check(table: &str, row: RowRef<'_>) -> Result<(), TransferError> {
    for (name, value) in row.properties {
        let found = match value {
            ValueRef::Unreadable(found) => found,
            _ if !row_json::can_carry(name) => "in JSON, its name is that of an annotation",
            _ => continue,
        };
        let (property, found) = (name.to_owned(), found.to_owned());
        return Err(TransferError::Unreadable { row: Box::new(row.id(table)), property, found });
    }
    Ok(())
}

/// Checks whether the credential may not send this request. A shared access signature for one table may neither list nor
/// create tables.
fn is_forbidden(error: &Error) -> bool {
    matches!(error, Error::Service(error) if error.status == 403)
}

/// Checks whether the table has the name of a catalog: that of the handle.
fn is_own_catalog(table: &str) -> bool {
    table.eq_ignore_ascii_case(&Record::INFO.layouts[0].table)
}

/// Checks whether the table may be the catalog of a prefix. Another program's table may have such a name too, so its rows
/// decide: see [`is_record`].
fn may_be_catalog(table: &str) -> bool {
    prefix_of_catalog(table).is_some()
}

/// Returns the prefix of the handles whose catalog a table of this name is.
fn prefix_of_catalog(table: &str) -> Option<&str> {
    let name = &Record::INFO.layouts[0].table;
    let (prefix, end) = table.split_at_checked(table.len().checked_sub(name.len())?)?;
    end.eq_ignore_ascii_case(name).then_some(prefix)
}

/// Checks whether a row is one of a catalog: the head of a table's records, or a record.
fn is_record(partition_key: &str, properties: PropertiesRef<'_>) -> bool {
    let has = |names: [&str; 2]| names.iter().all(|name| properties.get(name).is_some());
    partition_key == Record::INFO.layouts[0].partition_prefix
        && (has(["Format", "Changes"]) || has(["Layout", "State"]))
}
