//! What can go wrong, as values to act on.

use std::{fmt, path::PathBuf};

use crate::{DamagedProperties, ParseCursorError, Row, RowId, key::KeyProblem};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a read or a write did not happen, or, for [`OutcomeUnknown`](Error::OutcomeUnknown), may have happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value cannot stand in a key, and nothing was sent; or a stored key is not one of this entity.
    #[error(transparent)]
    Key(#[from] Box<KeyError>),

    /// A property of a stored row does not fit the struct's field, or a field's value no property, and nothing was
    /// sent.
    #[error(transparent)]
    Property(#[from] Box<PropertyError>),

    /// A row, a transaction or a query breaks a limit of the service. Nothing was sent.
    #[error(transparent)]
    Limit(#[from] Box<LimitError>),

    /// The query cannot be run as it stands. Nothing was sent.
    #[error(transparent)]
    Query(#[from] Box<QueryError>),

    /// A cursor is damaged, or of another query. Nothing was sent.
    #[error(transparent)]
    Cursor(#[from] ParseCursorError),

    /// An insert found a row with these keys. Nothing was written.
    #[error("{0} already exists")]
    AlreadyExists(Box<RowId>),

    /// A write to an existing row, or a condition on it, found none. Nothing was written.
    #[error("{0} does not exist")]
    NotFound(Box<RowId>),

    /// A conditional write found the row changed since it was read. Nothing was written; read it again.
    #[error("{0} has changed since it was read")]
    ConditionNotMet(Box<RowId>),

    /// A unique index has another entity for the value. Nothing was written.
    #[error(transparent)]
    UniqueViolation(#[from] Box<UniqueViolationError>),

    /// An insert was taken for dead and cleared away by another writer, or by a repair, before it was committed: it
    /// took too long. Nothing was written that a reader sees; insert again.
    #[error("the insert of {0} was aborted by another writer before it was committed")]
    Aborted(Box<RowId>),

    /// A bulk write did not write everything.
    #[error(transparent)]
    Bulk(#[from] Box<crate::BulkError>),

    /// An index was added to an entity that has rows, and is not built yet: `tables.backfill::<T>("name")` does it.
    #[error("the index `{index}` of {table} is being built; `backfill` completes it")]
    IndexBuilding {
        /// The entity's table.
        table: String,
        /// The index.
        index: String,
    },

    /// Nothing is recorded of an index, so that it is not known whether every entity has a row in it:
    /// [`create`](crate::Tables::create) records it.
    #[error(
        "nothing is recorded of the index `{index}` of {table}: `create` does it, and says whether it has to be built"
    )]
    IndexNotRecorded {
        /// The entity's table.
        table: String,
        /// The index.
        index: String,
    },

    /// The primary key or an index is recorded with another layout than the program's, which would not find its rows.
    #[error(transparent)]
    LayoutChanged(#[from] Box<LayoutChangedError>),

    /// [`create`](crate::Tables::create) found another entity's rows in the table, of which an index's cannot be told.
    #[error(transparent)]
    RowsMeet(#[from] Box<RowsMeetError>),

    /// An update found the entity's primary key changed. Nothing was sent; delete the one and insert the other.
    #[error(transparent)]
    KeyChanged(#[from] Box<KeyChangedError>),

    /// A write whose answer was lost: it may have been applied, or may yet be.
    #[error(transparent)]
    OutcomeUnknown(#[from] Box<OutcomeUnknownError>),

    /// The table does not exist; `tables.create::<T>()` makes it.
    #[error("the table {0} does not exist")]
    TableNotFound(String),

    /// The table is being deleted; the service needs up to a minute before the name is free again.
    #[error("the table {0} is still being deleted")]
    TableBeingDeleted(String),

    /// The service refused a request for another reason.
    #[error(transparent)]
    Service(#[from] Box<ServiceError>),

    /// The service could not be reached, or a read's answer was lost. Nothing was written.
    #[error("{operation} of {table}: no answer: {reason}")]
    NoAnswer {
        /// The table.
        table: String,
        /// What was asked.
        operation: &'static str,
        /// What happened, without addresses or credentials.
        reason: String,
    },

    /// A connection string, a credential or an option that cannot work; it never quotes a secret.
    #[error("{0}")]
    Configuration(String),

    /// Another process, or another `Tables` of this one, has the embedded store's file open.
    #[error("{} is in use: one process at a time can open an embedded store", .0.display())]
    InUse(PathBuf),

    /// The embedded store's file could not be read or written.
    #[error("the embedded store: {0}")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// The stored bytes of a row are damaged.
    #[error("{row}: {damage}")]
    Damaged {
        /// The row.
        row: Box<RowId>,
        /// What is damaged.
        damage: DamagedProperties,
    },

    /// The operating system's source of random bytes failed.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// A value cannot stand in a key part, or a stored key part is not one of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, layout `{layout}`, key part `{field}`: {problem}", row.as_ref().map_or_else(|| table.clone(), ToString::to_string))]
#[non_exhaustive]
pub struct KeyError {
    /// The entity's table.
    pub table: String,
    /// The row, where a stored key cannot be read; `None` where a value cannot stand in a key.
    pub row: Option<RowId>,
    /// The layout: `key`, or the index's name.
    pub layout: &'static str,
    /// The field; of a key that is too long, the one with which it got so.
    pub field: &'static str,
    /// What does not fit, with the value and the limit.
    pub problem: KeyProblem,
}

/// A property of a stored row does not fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{row}, property `{property}`: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct PropertyError {
    /// The row.
    pub row: RowId,
    /// The property's name.
    pub property: String,
    /// What the field holds, such as `Edm.Int32 in 0..=255`.
    pub expected: String,
    /// What the row holds: a type, or a type and the value that is out of range; `nothing` where it is missing.
    pub found: String,
}

/// A row, a transaction or a query breaks a limit of the service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what} {found}; the limit is {limit}", self.place())]
#[non_exhaustive]
pub struct LimitError {
    /// The table; empty for a transaction without writes, which has none.
    pub table: String,
    /// The row, if it is one.
    pub row: Option<RowId>,
    /// What breaks it, such as ``the property `Body` has``.
    pub what: String,
    /// What was found, such as `40000 UTF-16 units`.
    pub found: String,
    /// The limit, such as `32768 UTF-16 units`.
    pub limit: &'static str,
}

impl LimitError {
    fn place(&self) -> String {
        match &self.row {
            Some(row) => format!("{row}: "),
            None if self.table.is_empty() => String::new(),
            None => format!("{}: ", self.table),
        }
    }
}

/// A query that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table}, layout `{layout}`: {problem}")]
#[non_exhaustive]
pub struct QueryError {
    /// The entity's table.
    pub table: String,
    /// The layout: `key`, or the index's name.
    pub layout: &'static str,
    /// Why not, and what would do.
    pub problem: String,
}

/// A unique index has another entity for a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the unique index `{index}` of {} has `{value}` for {owner} already", row.table)]
#[non_exhaustive]
pub struct UniqueViolationError {
    /// The index.
    pub index: &'static str,
    /// The value, as it is indexed: of each field, folded where the index folds it; numbers and times as keys hold them.
    /// Several fields have a space between them.
    pub value: String,
    /// The row that would have been written; of the index, not of the entity.
    pub row: RowId,
    /// The entity that has the value.
    pub owner: RowId,
}

/// A key or an index whose layout is not the one that the store has recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of {entity} in {table} is recorded with another layout, by which this one would not find its rows: {changes}; {}", Self::what(.layout), Self::mend(.layout))]
#[non_exhaustive]
pub struct LayoutChangedError {
    /// The entity's table.
    pub table: String,
    /// The entity that is recorded: its kind, or the struct's name.
    pub entity: String,
    /// `key`, or the index's name.
    pub layout: &'static str,
    /// What differs from the layout that is recorded: each place with what was there, and what is.
    pub changes: String,
}

impl LayoutChangedError {
    fn what(layout: &str) -> String {
        if layout == "key" { "the primary key".to_owned() } else { format!("the index `{layout}`") }
    }

    fn mend(layout: &str) -> &'static str {
        if layout == "key" {
            "keep the layout (the beginning of its row keys by `#[row_key(prefix = \"…\")]`), or give the changed entity \
             another table, and insert there what a struct of the old layout reads; an entity that is another one needs \
             a kind, or a prefix, of its own"
        } else {
            "keep the layout (the names of a pointer's properties by `rename(…)`), or give the changed index another name, \
             and `backfill` it"
        }
    }
}

/// An index that shares a table with rows of another entity, where both could have one key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "in {table}, a row of `{layout}` could have the key of one of `{other_layout}` of {entity}: give the index a table of \
     its own, or each of them a prefix, with `prefix = \"…\"` in `#[index(…)]` and `#[row_key(…)]`; of two prefixes \
     neither may begin with the other"
)]
#[non_exhaustive]
pub struct RowsMeetError {
    /// The table.
    pub table: String,
    /// The index, or `key`.
    pub layout: &'static str,
    /// The other entity: its kind, or the struct's name.
    pub entity: String,
    /// Its index, or `key`.
    pub other_layout: String,
}

/// An update of an entity whose primary key is not the one that it was read with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an update cannot move {was} to (PartitionKey='{partition_key}',RowKey='{row_key}'): delete the one and insert the other"
)]
#[non_exhaustive]
pub struct KeyChangedError {
    /// The row that was read.
    pub was: RowId,
    /// The partition key of the changed entity.
    pub partition_key: String,
    /// The row key of the changed entity.
    pub row_key: String,
}

/// A write whose answer was lost.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation} of {row}: the answer was lost ({reason}), so it may have been applied; {now}")]
#[non_exhaustive]
pub struct OutcomeUnknownError {
    /// What was asked.
    pub operation: &'static str,
    /// The row; of a transaction, its first one.
    pub row: RowId,
    /// What happened, without addresses or credentials.
    pub reason: String,
    /// The row as it was found afterwards. It proves nothing: the write may yet arrive, or another writer's be there.
    pub now: RowNow,
}

impl OutcomeUnknownError {
    /// The error of a backend that lost the answer of a write. The row is read afterwards, by whoever asked.
    pub fn new(operation: &'static str, row: RowId, reason: impl Into<String>) -> Self {
        Self { operation, row, reason: reason.into(), now: RowNow::Unread("not tried".to_owned()) }
    }
}

/// A row as it was found after a write whose answer was lost.
#[derive(Debug, Clone, PartialEq)]
pub enum RowNow {
    /// It exists, like this.
    Present(Box<Row>),
    /// It does not exist.
    Absent,
    /// It could not be read either, for this reason.
    Unread(String),
}

impl fmt::Display for RowNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(row) => write!(f, "the row now exists with ETag {}", row.etag),
            Self::Absent => f.write_str("the row now does not exist"),
            Self::Unread(reason) => write!(f, "the row could not be read either: {reason}"),
        }
    }
}

/// An answer of the service that is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation} of {table}: the service answered {status} {code}: {message}")]
#[non_exhaustive]
pub struct ServiceError {
    /// The table.
    pub table: String,
    /// What was asked.
    pub operation: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The service's error code, such as `InvalidInput`; empty where it sent none.
    pub code: String,
    /// The service's message.
    pub message: String,
}
