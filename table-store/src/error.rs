//! Errors, as values that a program can act on.

use std::{fmt, path::PathBuf};

use crate::{DamagedProperties, Row, RowId};

mod bulk;
mod cursor;
mod name;
pub(crate) mod problem;
mod request;
mod web;

pub use bulk::{BulkError, BulkFailure, BulkProgress};
use problem::After;
pub use problem::{KeyProblem, PropertyProblem};
pub use request::{Refused, RequestIds};

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a read or a write was not carried out. After [`OutcomeUnknown`](Error::OutcomeUnknown), it may have been
/// carried out. [`status`](Error::status) has a table of all errors with their HTTP statuses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value cannot be stored in a key, and nothing was sent; or a stored key does not belong to this entity.
    #[error(transparent)]
    Key(#[from] Box<KeyError>),

    /// A property of a stored row does not fit the struct's field; or no property can hold a field's value, and nothing
    /// was sent.
    #[error(transparent)]
    Property(#[from] Box<PropertyError>),

    /// A stored row has properties that the struct does not know, and the struct denies them:
    /// `#[table(deny_unknown)]`. Projections and copies, which hold only some properties, do not look for others.
    #[error(transparent)]
    UnknownProperties(#[from] Box<UnknownPropertiesError>),

    /// A stored row has a version that the struct cannot read: `#[table(version = …)]`.
    #[error(transparent)]
    Version(#[from] Box<VersionError>),

    /// A row, a transaction or a query exceeds a limit of the service. Nothing was sent.
    #[error(transparent)]
    Limit(#[from] Box<LimitError>),

    /// The query cannot be run in this form. Nothing was sent.
    #[error(transparent)]
    Query(#[from] Box<QueryError>),

    /// A cursor is damaged, or belongs to another query. Nothing was sent.
    #[error(transparent)]
    Cursor(#[from] ParseCursorError),

    /// The source of a bulk write had this error in place of an entity. Nothing was sent for it.
    #[error("the source of the entities has an error{}", After(": ", &.0.to_string()))]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// An insert found a row with these keys. Nothing was written. [`Refused::is_in_bin`] says whether it is an entity in the
    /// bin, which readers do not see. An entity that has expired is not in the way.
    #[error("{} already exists{}", .0, if_in_bin(.0.is_in_bin(), ", in the bin"))]
    AlreadyExists(Refused<RowId>),

    /// The row does not exist that a write changes or requires, or its entity has expired. Nothing was written.
    #[error("{0} does not exist")]
    NotFound(Refused<RowId>),

    /// A conditional write found the row changed since it was read. Nothing was written; read it again.
    #[error("{0} has changed since it was read")]
    ConditionNotMet(Refused<RowId>),

    /// A unique index holds the value for another entity. Nothing was written.
    #[error(transparent)]
    UniqueViolation(#[from] Box<UniqueViolationError>),

    /// Other writers or repairs considered an insert abandoned and removed its rows before it was committed, in each of up
    /// to 200 attempts: it took too long. Readers see nothing of it; insert again.
    #[error("the insert of {0} was aborted by another writer before it was committed")]
    Aborted(Refused<RowId>),

    /// A bulk write did not write everything.
    #[error(transparent)]
    Bulk(#[from] Box<BulkError>),

    /// An index was added to an entity that has rows, and is not built yet. `tables.backfill::<T>("name")` builds it.
    #[error("the index `{index}` of {table} is being built; `backfill` completes it")]
    IndexBuilding {
        /// The entity's table.
        table: String,
        /// The index.
        index: String,
    },

    /// The index is not recorded, so it is unknown whether every entity has a row in it.
    /// `create` records it.
    #[error("the index `{index}` of {table} is not recorded; `create` records it and checks whether it must be built")]
    IndexNotRecorded {
        /// The entity's table.
        table: String,
        /// The index.
        index: String,
    },

    /// The index is being dropped: `drop_index` deletes its rows. Once it has ended, an
    /// index of this name can be added again.
    #[error("the index `{index}` of {table} is being dropped; `drop_index` completes that")]
    IndexDropped {
        /// The entity's table.
        table: String,
        /// The index.
        index: String,
    },

    /// `create` found an index that is ready and that the struct does not have; or a write found one
    /// that another program builds or has built. Nothing was written.
    #[error(transparent)]
    IndexMissing(#[from] Box<MissingIndexError>),

    /// A migration has moved the entity to another place. Nothing was written.
    #[error("{entity} in {table} was moved{}; use the struct of the new place", After(" to ", to))]
    EntityMoved {
        /// The entity's old table.
        table: String,
        /// The entity: its kind, or the struct's name.
        entity: String,
        /// The new place; empty if it is unknown.
        to: String,
    },

    /// A migration is still moving entities to this place.
    #[error("{entity} in {table} is the target of a migration that has not ended; `migrate` completes it")]
    EntityMigrating {
        /// The entity's table.
        table: String,
        /// The entity: its kind, or the struct's name.
        entity: String,
    },

    /// A newer version of `table-runtime` has written the catalog, the table `TableLayouts`.
    #[error("the catalog has the format {found}, and this version of table-runtime knows {known}; update the crate")]
    NewerCatalog {
        /// The format of the catalog.
        found: i32,
        /// The greatest format that this version knows.
        known: i32,
    },

    /// The primary key, an index or a property is recorded differently from the program's, so the program would not find
    /// or not read stored rows; or a new entity could not be distinguished from a recorded one.
    #[error(transparent)]
    LayoutChanged(#[from] Box<LayoutChangedError>),

    /// `create` found that rows of an index could collide with another entity's rows in the
    /// same table.
    #[error(transparent)]
    RowsCollide(#[from] Box<RowsCollideError>),

    /// An update found that the entity's primary key has changed. Nothing was sent; delete the old entity and insert
    /// the new one.
    #[error(transparent)]
    KeyChanged(#[from] Box<KeyChangedError>),

    /// The answer to a write was lost. The write may have been applied, or may yet be.
    #[error(transparent)]
    OutcomeUnknown(#[from] Box<OutcomeUnknownError>),

    /// The table does not exist; `tables.create::<T>()` creates it.
    #[error("the table {0} does not exist")]
    TableNotFound(Refused<String>),

    /// The table is being deleted; the service needs up to a minute before the name is free again.
    #[error("the table {0} is still being deleted")]
    TableBeingDeleted(Refused<String>),

    /// The service refused a request for another reason.
    #[error(transparent)]
    Service(#[from] Box<ServiceError>),

    /// The service could not be reached, or the answer to a read was lost. Nothing was written.
    #[error("{}: no answer{}", RequestText { operation, table }, After(": ", reason))]
    NoAnswer {
        /// The table.
        table: String,
        /// Operation that was requested.
        operation: &'static str,
        /// Cause, without addresses or credentials.
        reason: String,
        /// Identifiers of the last request; `None` if none was sent.
        request: Option<Box<RequestIds>>,
    },

    /// A connection string, a credential or an option is invalid. The message never quotes a secret.
    #[error("{0}")]
    Configuration(String),

    /// Another process, or another `Tables` of this one, has the embedded store's file open.
    #[error("{} is in use: one process at a time can open an embedded store", .0.display())]
    InUse(PathBuf),

    /// The embedded store's file could not be read or written.
    #[error("the embedded store{}", After(": ", &.0.to_string()))]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// The stored bytes of a row are damaged.
    #[error("{row}: {damage}")]
    Damaged {
        /// The row.
        row: Box<RowId>,
        /// The damage.
        damage: DamagedProperties,
        /// Position after the row: see [`Error::cursor`].
        #[doc(hidden)]
        cursor: Option<Box<str>>,
    },

    /// The operating system's source of random bytes failed.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// A value cannot be stored in a key part, or a stored key part is not valid for its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, layout `{layout}`, key part `{field}`: {problem}", row.as_ref().map_or_else(|| table.clone(), ToString::to_string))]
#[non_exhaustive]
pub struct KeyError {
    /// The entity's table.
    pub table: String,
    /// The row whose stored key cannot be read; `None` if a value cannot be stored in a key.
    pub row: Option<RowId>,
    /// Name of the index, or `key` for the primary key.
    pub layout: &'static str,
    /// The field. If the key is too long, the field that exceeded the limit.
    pub field: &'static str,
    /// Problem, with the value and the limit.
    pub problem: KeyProblem,
    /// Position after the row: see [`Error::cursor`].
    cursor: Option<Box<str>>,
}

impl KeyError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(
        table: String,
        row: Option<RowId>,
        layout: &'static str,
        field: &'static str,
        problem: KeyProblem,
    ) -> Self {
        Self { table, row, layout, field, problem, cursor: None }
    }
}

/// A stored row whose version the struct cannot read: `#[table(version = …)]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{row} has version {found}, {}", .problem.text(*.known))]
#[non_exhaustive]
pub struct VersionError {
    /// The row.
    pub row: RowId,
    /// Version of the row.
    pub found: u32,
    /// Version of the struct.
    pub known: u32,
    /// Reason why the row cannot be read.
    pub problem: VersionProblem,
    /// Position after the row: see [`Error::cursor`].
    cursor: Option<Box<str>>,
}

impl VersionError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(row: RowId, found: u32, known: u32, problem: VersionProblem) -> Self {
        Self { row, found, known, problem, cursor: None }
    }
}

/// Reason why a struct cannot read a row of another version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VersionProblem {
    /// The row is newer than the struct: another program has a newer struct.
    Newer,
    /// The row is older than the struct, and no `from` reads rows of its version.
    Older,
    /// The conversion of the older entity failed, for this reason.
    Failed(String),
    /// The conversion changed the entity's row in this layout: its key, or properties that it includes. `key` is the
    /// primary key.
    KeyChanged(&'static str),
}

impl VersionProblem {
    fn text(&self, known: u32) -> String {
        match self {
            Self::Newer => format!(
                "and this program knows the versions up to {known}: update the program, or let it skip such rows with \
                 `#[table(skip_newer)]`"
            ),
            Self::Older => format!(
                "and this program reads no rows of that version: write `#[table(version = {known}, from = …)]`, with the \
                 struct that wrote them"
            ),
            Self::Failed(reason) => {
                format!("which could not be converted to version {known}{}", After(": ", reason))
            }
            Self::KeyChanged(layout) => {
                let what =
                    if *layout == "key" { "primary key".to_owned() } else { format!("row in the index `{layout}`") };
                format!(
                    "and its conversion to version {known} changes the {what}, so the row would not be found: keep the \
                     values of fields in keys and indexes"
                )
            }
        }
    }
}

/// Properties of a stored row that the struct does not know, although it denies them: `#[table(deny_unknown)]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{row} has properties that the struct does not know: {}; add them to the struct, or remove `deny_unknown`",
    properties.join(", ")
)]
#[non_exhaustive]
pub struct UnknownPropertiesError {
    /// The row.
    pub row: RowId,
    /// Names of the properties, in the order of the row.
    pub properties: Vec<String>,
    /// Position after the row: see [`Error::cursor`].
    cursor: Option<Box<str>>,
}

impl UnknownPropertiesError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(row: RowId, properties: Vec<String>) -> Self {
        Self { row, properties, cursor: None }
    }
}

/// A property of a stored row does not fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{row}, property `{property}`{}{}", After(": expected ", expected), After(", found ", found))]
#[non_exhaustive]
pub struct PropertyError {
    /// The row.
    pub row: RowId,
    /// The property's name.
    pub property: String,
    /// Values that the field can hold, such as `Edm.Int32 in 0..=255`.
    pub expected: String,
    /// Content of the row: a type, or a type and a value that is out of range; `nothing` if the property is missing.
    pub found: String,
    /// `true` if the property is that of a stored row; `false` if no property can hold the field's value, and nothing was
    /// sent.
    pub stored: bool,
    /// Position after the row: see [`Error::cursor`].
    cursor: Option<Box<str>>,
}

impl PropertyError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(row: RowId, property: String, expected: String, found: String, stored: bool) -> Self {
        Self { row, property, expected, found, stored, cursor: None }
    }
}

/// A row, a transaction or a query exceeds a limit of the service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what} {found}; the limit is {limit}", self.place())]
#[non_exhaustive]
pub struct LimitError {
    /// The table; empty for a transaction without writes, which has none.
    pub table: String,
    /// The row, if a row exceeds the limit.
    pub row: Option<RowId>,
    /// Subject that exceeds the limit, such as ``the property `Body` has``.
    pub what: String,
    /// Measured value, such as `40000 UTF-16 units`.
    pub found: String,
    /// The limit, such as `32768 UTF-16 units`.
    pub limit: &'static str,
}

impl LimitError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(table: String, row: Option<RowId>, what: String, found: String, limit: &'static str) -> Self {
        Self { table, row, what, found, limit }
    }

    fn place(&self) -> String {
        match &self.row {
            Some(row) => format!("{row}: "),
            None if self.table.is_empty() => String::new(),
            None => format!("{}: ", self.table),
        }
    }
}

/// Reason why a text is not a cursor of this query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCursorError {
    /// The text is no cursor, or was cut or changed.
    #[error("the cursor is damaged")]
    Damaged,
    /// The cursor belongs to another query, or to this query over another layout.
    #[error("the cursor is of another query")]
    OtherQuery,
}

/// A query that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table}, layout `{layout}`: {problem}")]
#[non_exhaustive]
pub struct QueryError {
    /// The entity's table.
    pub table: String,
    /// Name of the index, or `key` for the primary key.
    pub layout: &'static str,
    /// Reason, and the remedy.
    pub problem: String,
}

impl QueryError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(table: String, layout: &'static str, problem: String) -> Self {
        Self { table, layout, problem }
    }
}

/// A unique index holds the value for another entity. An entity that has expired does not count; one in the bin does.
///
/// `Display` names the index, its table and the value. It does not name the entity that has the value, because that may
/// belong to another tenant: see [`owner`](Self::owner).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the unique index `{index}` of {} has `{value}` already{}", row.table, if_in_bin(*.in_bin, ", for an entity in the bin"))]
#[non_exhaustive]
pub struct UniqueViolationError {
    /// The index.
    pub index: &'static str,
    /// Value of each field as it is indexed: text is folded if the index folds it; numbers and times are in the format
    /// of keys. Spaces separate several fields.
    pub value: String,
    /// Row of the index that would have been written, not that of the entity.
    pub row: RowId,
    /// The entity that was not written.
    pub entity: RowId,
    /// The entity that has the value. `Display` does not name it.
    pub owner: RowId,
    /// `true` if that entity is in the bin: `#[table(soft_delete = …)]`. Readers do not see it; `restore` or `remove` it.
    pub in_bin: bool,
}

impl UniqueViolationError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(index: &'static str, value: String, row: RowId, entity: RowId, owner: RowId) -> Self {
        Self { index, value, row, entity, owner, in_bin: false }
    }
}

/// Returns the text if the row is in the bin.
const fn if_in_bin(is_in_bin: bool, text: &'static str) -> &'static str {
    if is_in_bin { text } else { "" }
}

/// A key, an index or a property that differs from the one that the store has recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of {entity} in {table} {} recorded differently, so this program would {}: {changes}; {advice}", Self::subject(.layout), Self::verb(.layout), Self::effect(.layout))]
#[non_exhaustive]
pub struct LayoutChangedError {
    /// The entity's table.
    pub table: String,
    /// Recorded entity: its kind, or the struct's name.
    pub entity: String,
    /// Name of the index, `key` for the primary key, `properties`, or `lifecycle` for the times that hide the entity.
    pub layout: &'static str,
    /// Differences from the recorded layout: each place with its recorded and its present value.
    pub changes: String,
    /// Possible remedies.
    pub advice: String,
}

impl LayoutChangedError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(table: String, entity: String, layout: &'static str, changes: String, advice: String) -> Self {
        Self { table, entity, layout, changes, advice }
    }

    fn subject(layout: &str) -> String {
        match layout {
            "key" => "the primary key".to_owned(),
            "properties" => "the properties".to_owned(),
            "lifecycle" => "the lifecycle".to_owned(),
            index => format!("the index `{index}`"),
        }
    }

    fn verb(layout: &str) -> &'static str {
        if layout == "properties" { "are" } else { "is" }
    }

    fn effect(layout: &str) -> &'static str {
        if layout == "lifecycle" { "show entities that others hide" } else { "not find its rows" }
    }
}

/// An index that is recorded as ready, and that the program's struct does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the index `{index}` of {entity} in {table} is ready or being built, and this program's struct does not have it, so that \
     entities which it writes would be missing from the index: drop the index with `drop_index(\"{index}\")`, or, to roll \
     back to this program, take it back to building with `demote_missing_indexes` on `create`"
)]
#[non_exhaustive]
pub struct MissingIndexError {
    /// The entity's table.
    pub table: String,
    /// The recorded entity: its kind, or the struct's name.
    pub entity: String,
    /// The index.
    pub index: String,
}

impl MissingIndexError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(table: String, entity: String, index: String) -> Self {
        Self { table, entity, index }
    }
}

/// An index that shares a table with rows of another entity, so that rows of both could have the same key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "in {table}, a row of `{layout}` could have the key of one of `{other_layout}` of {entity}: give the index a table of \
     its own, or each of them a prefix, with `prefix = \"…\"` in `#[index(…)]` and `#[row_key(…)]`; of two prefixes \
     neither may begin with the other"
)]
#[non_exhaustive]
pub struct RowsCollideError {
    /// The table.
    pub table: String,
    /// Name of the index, or `key` for the primary key.
    pub layout: &'static str,
    /// The other entity: its kind, or the struct's name.
    pub entity: String,
    /// Name of the other entity's index, or `key` for its primary key.
    pub other_layout: String,
}

impl RowsCollideError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(table: String, layout: &'static str, entity: String, other_layout: String) -> Self {
        Self { table, layout, entity, other_layout }
    }
}

/// An update of an entity whose primary key differs from the one that it was read with.
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

impl KeyChangedError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(was: RowId, partition_key: String, row_key: String) -> Self {
        Self { was, partition_key, row_key }
    }
}

/// A write whose answer was lost.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "{operation} of {row}: the answer was lost{}{}, so it may have been applied; {now}",
    After(" (", reason), if reason.is_empty() { "" } else { ")" }
)]
#[non_exhaustive]
pub struct OutcomeUnknownError {
    /// Operation that was requested.
    pub operation: &'static str,
    /// The row; for a transaction, its first row.
    pub row: RowId,
    /// Cause, without addresses or credentials.
    pub reason: String,
    /// The row as it was read afterwards. It proves nothing: the write may still arrive, or the row may come from
    /// another writer.
    pub now: RowNow,
    /// Identifiers of the request whose answer was lost; `None` if the store has none.
    pub request: Option<RequestIds>,
}

impl OutcomeUnknownError {
    /// Creates the error of a backend that lost the answer to a write. The caller of the backend reads the row
    /// afterwards.
    pub fn new(operation: &'static str, row: RowId, reason: impl Into<String>) -> Self {
        Self { operation, row, reason: reason.into(), now: RowNow::Unread("not tried".to_owned()), request: None }
    }
}

/// A row as it was read after the answer to a write was lost.
#[derive(Debug, Clone, PartialEq)]
pub enum RowNow {
    /// The row exists, with this content.
    Present(Box<Row>),
    /// The row does not exist.
    Absent,
    /// The row could not be read either, for this reason.
    Unread(String),
}

impl fmt::Display for RowNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present(row) => write!(f, "the row now exists with ETag {}", row.etag),
            Self::Absent => f.write_str("the row now does not exist"),
            Self::Unread(reason) => write!(f, "the row could not be read either{}", After(": ", reason)),
        }
    }
}

/// An error that the service answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: the service answered {status}{}{}", RequestText { operation, table }, After(" ", code), After(": ", message))]
#[non_exhaustive]
pub struct ServiceError {
    /// The table.
    pub table: String,
    /// Operation that was requested.
    pub operation: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// Error code of the service, such as `InvalidInput`; empty if it sent none.
    pub code: String,
    /// Message of the service; empty if it sent none.
    pub message: String,
    /// Identifiers of the request.
    pub request: Option<RequestIds>,
}

impl ServiceError {
    /// Returns the error of these fields.
    #[doc(hidden)]
    pub fn new(
        table: String,
        operation: &'static str,
        status: u16,
        code: String,
        message: String,
        request: Option<RequestIds>,
    ) -> Self {
        Self { table, operation, status, code, message, request }
    }
}

/// Operation, and its table if it concerns one.
struct RequestText<'a> {
    operation: &'a str,
    table: &'a str,
}

impl fmt::Display for RequestText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, table } = self;
        write!(f, "{operation}{}", After(" of ", table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Properties;

    fn row(key: &str) -> RowId {
        RowId { table: "Posts".to_owned(), partition_key: key.to_owned(), row_key: key.to_owned() }
    }

    /// Returns an error of every kind, with `words` in place of all texts from outside.
    fn every_kind(words: &'static str) -> Vec<Error> {
        let errors = errors_of_values(words).into_iter().chain(errors_of_rows(words));
        errors.chain(errors_of_layouts(words)).chain(errors_of_stores(words)).collect()
    }

    /// Returns the name of a table.
    fn name() -> String {
        "Posts".to_owned()
    }

    fn errors_of_values(words: &'static str) -> Vec<Error> {
        let key = |row: Option<RowId>| KeyError {
            table: name(),
            row,
            layout: "key",
            field: "posted",
            problem: KeyProblem::Malformed { expected: "a time".into(), found: words.to_owned() },
            cursor: None,
        };
        let limit = |row: Option<RowId>| LimitError {
            table: words.to_owned(),
            row,
            what: "it has".to_owned(),
            found: "2 rows".to_owned(),
            limit: "1 row",
        };
        let property = |expected: &'static str| PropertyError {
            row: row(words),
            property: name(),
            expected: expected.to_owned(),
            found: words.to_owned(),
            stored: true,
            cursor: None,
        };
        let version = |problem| VersionError::new(row(words), 3, 2, problem);
        vec![
            Box::new(key(None)).into(),
            Box::new(key(Some(row(words)))).into(),
            Box::new(property("Edm.Int32")).into(),
            Box::new(property(words)).into(),
            Box::new(UnknownPropertiesError::new(row(words), vec![name(), name()])).into(),
            Box::new(version(VersionProblem::Newer)).into(),
            Box::new(version(VersionProblem::Older)).into(),
            Box::new(version(VersionProblem::Failed(words.to_owned()))).into(),
            Box::new(version(VersionProblem::KeyChanged("key"))).into(),
            Box::new(version(VersionProblem::KeyChanged("email"))).into(),
            Box::new(limit(None)).into(),
            Box::new(limit(Some(row(words)))).into(),
            Box::new(QueryError { table: name(), layout: "key", problem: "too short".to_owned() }).into(),
            Error::Cursor(ParseCursorError::Damaged),
            Error::Cursor(ParseCursorError::OtherQuery),
            Error::Source(words.into()),
        ]
    }

    fn errors_of_rows(words: &'static str) -> Vec<Error> {
        let quoted = || words.to_owned();
        let unknown = |now: RowNow| OutcomeUnknownError {
            operation: "insert",
            row: row(words),
            reason: quoted(),
            now,
            request: None,
        };
        let present = Row {
            partition_key: quoted(),
            row_key: quoted(),
            properties: Properties::default(),
            etag: crate::Ticks::UNIX_EPOCH.into(),
            timestamp: crate::Ticks::UNIX_EPOCH,
        };
        vec![
            Error::AlreadyExists(row(words).into()),
            Error::NotFound(row(words).into()),
            Error::ConditionNotMet(row(words).into()),
            Error::Aborted(row(words).into()),
            Box::new(UniqueViolationError {
                index: "email",
                value: quoted(),
                row: row(words),
                entity: row(words),
                owner: row(words),
                in_bin: false,
            })
            .into(),
            Box::new(KeyChangedError { was: row(words), partition_key: quoted(), row_key: quoted() }).into(),
            Box::new(unknown(RowNow::Absent)).into(),
            Box::new(unknown(RowNow::Present(Box::new(present)))).into(),
            Box::new(unknown(RowNow::Unread(quoted()))).into(),
        ]
    }

    fn errors_of_layouts(words: &str) -> Vec<Error> {
        let changed = |layout| LayoutChangedError {
            table: name(),
            entity: name(),
            layout,
            changes: "a part".to_owned(),
            advice: "keep it".to_owned(),
        };
        vec![
            Error::IndexBuilding { table: name(), index: name() },
            Error::IndexNotRecorded { table: name(), index: name() },
            Error::IndexDropped { table: name(), index: name() },
            Box::new(MissingIndexError { table: name(), entity: name(), index: name() }).into(),
            Error::EntityMoved { table: name(), entity: name(), to: words.to_owned() },
            Error::EntityMigrating { table: name(), entity: name() },
            Error::NewerCatalog { found: 2, known: 1 },
            Box::new(changed("properties")).into(),
            Box::new(changed("email")).into(),
            Box::new(changed("key")).into(),
            Box::new(RowsCollideError { table: name(), layout: "key", entity: name(), other_layout: name() }).into(),
        ]
    }

    fn errors_of_stores(words: &'static str) -> Vec<Error> {
        let service = |code: &str, message: &str| ServiceError {
            table: words.to_owned(),
            operation: "insert",
            status: 409,
            code: code.to_owned(),
            message: message.to_owned(),
            request: None,
        };
        vec![
            Error::TableNotFound(name().into()),
            Error::TableBeingDeleted(name().into()),
            Box::new(service(words, words)).into(),
            Box::new(service("Code", words)).into(),
            Box::new(service(words, "Message")).into(),
            Error::NoAnswer { table: words.to_owned(), operation: "insert", reason: words.to_owned(), request: None },
            Error::Configuration(name()),
            Error::InUse(PathBuf::from("posts.tables")),
            Error::Store(words.into()),
            Error::damaged(row(words), DamagedProperties),
            Error::Random(getrandom::Error::UNSUPPORTED),
        ]
    }

    #[test]
    fn no_message_has_an_empty_part() {
        for words in ["", "x"] {
            for error in every_kind(words) {
                let message = error.to_string();
                assert_eq!(message, message.trim(), "{error:?}");
                assert!(!message.contains("  ") && !message.contains(" :") && !message.contains("()"), "{message}");
                assert!(!message.contains(" ,") && !message.contains(" ;"), "{message}");
                assert!(!message.ends_with([':', ',', ';', '(']) && !message.starts_with([':', ',', '(']), "{message}");
            }
        }
    }

    #[test]
    fn public_messages_tell_nothing_of_rows() {
        for error in every_kind("s3cr3t") {
            let message = error.public_message();
            assert!(!message.is_empty() && !message.contains("s3cr3t") && !message.contains("Posts("), "{message}");
            assert!([400, 404, 409, 412, 429, 500, 503].contains(&error.status()), "{error}: {}", error.status());
        }
    }

    #[test]
    fn the_status_says_who_can_do_something() {
        let service = |status| -> Error {
            let (table, code, message) = (String::new(), String::new(), String::new());
            Box::new(ServiceError { table, operation: "insert", status, code, message, request: None }).into()
        };
        assert_eq!([429, 403, 400, 500, 503].map(|status| service(status).status()), [429, 500, 500, 503, 503]);
        let property = |stored| -> Error {
            let (property, expected, found) = ("Likes".to_owned(), String::new(), String::new());
            Box::new(PropertyError::new(row("a"), property, expected, found, stored)).into()
        };
        assert_eq!([property(true).status(), property(false).status()], [500, 400]);
        assert_eq!(property(false).public_message(), "`Likes` has a value that cannot be stored");
        assert_eq!(property(true).public_message(), "the service has an error");
        assert_eq!(Error::ConditionNotMet(row("a").into()).status(), 412);
        assert_eq!(Error::NotFound(row("a").into()).status(), 404);
        assert_eq!(Error::AlreadyExists(row("a").into()).status(), 409);
        let failure = |error| BulkFailure { position: 0, row: None, error: std::sync::Arc::new(error) };
        let failures = vec![failure(Error::NotFound(row("a").into())), failure(Error::AlreadyExists(row("a").into()))];
        let bulk = BulkError::new(BulkProgress::default(), failures, 0, false).expect("two failures");
        assert_eq!(Error::from(Box::new(bulk)).public_message(), "it does not exist");
    }

    #[test]
    fn an_answer_without_text_is_described_by_its_status() {
        let message_of = |table: &str, code: &str, message: &str| {
            let (table, code, message) = (table.to_owned(), code.to_owned(), message.to_owned());
            ServiceError { table, operation: "insert", status: 409, code, message, request: None }.to_string()
        };
        assert_eq!(message_of("Posts", "", ""), "insert of Posts: the service answered 409");
        assert_eq!(message_of("Posts", "Conflict", ""), "insert of Posts: the service answered 409 Conflict");
        assert_eq!(message_of("Posts", "", "No."), "insert of Posts: the service answered 409: No.");
        assert_eq!(message_of("Posts", "Conflict", "No."), "insert of Posts: the service answered 409 Conflict: No.");
        assert_eq!(message_of("", "", ""), "insert: the service answered 409");
    }
}
