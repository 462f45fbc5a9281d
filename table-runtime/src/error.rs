//! What can go wrong, as values to act on.

use std::{fmt, path::PathBuf};

use crate::{DamagedProperties, Row, RowId};

mod bulk;
mod problem;

pub use bulk::{BulkError, BulkFailure, BulkProgress};
pub(crate) use problem::one_of;
pub use problem::{KeyProblem, PropertyProblem};

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
    Bulk(#[from] Box<BulkError>),

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
    RowsCollide(#[from] Box<RowsCollideError>),

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
    #[error("{}: no answer{}", Request { operation, table }, After(": ", reason))]
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
    #[error("the embedded store{}", After(": ", &.0.to_string()))]
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
#[error("{row}, property `{property}`{}{}", After(": expected ", expected), After(", found ", found))]
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

/// Why a text is not a cursor of this query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCursorError {
    /// It is no cursor, or it was cut or changed.
    #[error("the cursor is damaged")]
    Damaged,
    /// It is a cursor of another query, or of this query over another layout.
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
    /// The layout: `key`, or the index's name.
    pub layout: &'static str,
    /// Why not, and what would do.
    pub problem: String,
}

/// A unique index has another entity for a value.
///
/// `Display` names the index, its table and the value, not the entity that has it, which may be another tenant's: that
/// is [`owner`](Self::owner).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the unique index `{index}` of {} has `{value}` already", row.table)]
#[non_exhaustive]
pub struct UniqueViolationError {
    /// The index.
    pub index: &'static str,
    /// The value, as it is indexed: of each field, folded where the index folds it; numbers and times as keys hold them.
    /// Several fields have a space between them.
    pub value: String,
    /// The row that would have been written; of the index, not of the entity.
    pub row: RowId,
    /// The entity that was not written.
    pub entity: RowId,
    /// The entity that has the value. `Display` does not name it.
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
pub struct RowsCollideError {
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
#[error(
    "{operation} of {row}: the answer was lost{}{}, so it may have been applied; {now}",
    After(" (", reason), if reason.is_empty() { "" } else { ")" }
)]
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
            Self::Unread(reason) => write!(f, "the row could not be read either{}", After(": ", reason)),
        }
    }
}

/// An answer of the service that is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: the service answered {status}{}{}", Request { operation, table }, After(" ", code), After(": ", message))]
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
    /// The service's message; empty where it sent none.
    pub message: String,
}

/// A part of a message that may be empty, after what separates it from the parts before.
pub(crate) struct After<'a>(pub(crate) &'static str, pub(crate) &'a str);

impl fmt::Display for After<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(separator, text) = self;
        if text.is_empty() { Ok(()) } else { write!(f, "{separator}{text}") }
    }
}

/// What was asked, and of which table, if it is about one.
struct Request<'a> {
    operation: &'a str,
    table: &'a str,
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, table } = self;
        write!(f, "{operation}{}", After(" of ", table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Properties;

    #[allow(clippy::unnecessary_box_returns, reason = "as errors hold it")]
    fn row(key: &str) -> Box<RowId> {
        Box::new(RowId { table: "Posts".to_owned(), partition_key: key.to_owned(), row_key: key.to_owned() })
    }

    /// An error of every kind, which says these words where it quotes what others said.
    fn every_kind(words: &'static str) -> Vec<Error> {
        let (name, quoted) = (|| "Posts".to_owned(), || words.to_owned());
        let key = |row: Option<RowId>| KeyError {
            table: name(),
            row,
            layout: "key",
            field: "posted",
            problem: KeyProblem::Malformed { expected: "a time".into(), found: quoted() },
        };
        let limit = |row: Option<RowId>| LimitError {
            table: quoted(),
            row,
            what: "it has".to_owned(),
            found: "2 rows".to_owned(),
            limit: "1 row",
        };
        let unknown =
            |now: RowNow| OutcomeUnknownError { operation: "insert", row: *row(words), reason: quoted(), now };
        let service = |code: &str, message: &str| ServiceError {
            table: quoted(),
            operation: "insert",
            status: 409,
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let property = |expected: &'static str| PropertyError {
            row: *row(words),
            property: name(),
            expected: expected.to_owned(),
            found: quoted(),
        };
        let present = Row {
            partition_key: quoted(),
            row_key: quoted(),
            properties: Properties::default(),
            etag: crate::Ticks::UNIX_EPOCH.into(),
            timestamp: crate::Ticks::UNIX_EPOCH,
        };
        let layout_changed =
            |layout| LayoutChangedError { table: name(), entity: name(), layout, changes: "a part".to_owned() };
        vec![
            Box::new(key(None)).into(),
            Box::new(key(Some(*row(words)))).into(),
            Box::new(property("Edm.Int32")).into(),
            Box::new(property(words)).into(),
            Box::new(limit(None)).into(),
            Box::new(limit(Some(*row(words)))).into(),
            Box::new(QueryError { table: name(), layout: "key", problem: "too short".to_owned() }).into(),
            Error::Cursor(ParseCursorError::Damaged),
            Error::Cursor(ParseCursorError::OtherQuery),
            Error::AlreadyExists(row(words)),
            Error::NotFound(row(words)),
            Error::ConditionNotMet(row(words)),
            Error::Aborted(row(words)),
            Box::new(UniqueViolationError {
                index: "email",
                value: quoted(),
                row: *row(words),
                entity: *row(words),
                owner: *row(words),
            })
            .into(),
            Error::IndexBuilding { table: name(), index: name() },
            Error::IndexNotRecorded { table: name(), index: name() },
            Box::new(layout_changed("email")).into(),
            Box::new(layout_changed("key")).into(),
            Box::new(RowsCollideError { table: name(), layout: "key", entity: name(), other_layout: name() }).into(),
            Box::new(KeyChangedError { was: *row(words), partition_key: quoted(), row_key: quoted() }).into(),
            Box::new(unknown(RowNow::Absent)).into(),
            Box::new(unknown(RowNow::Present(Box::new(present)))).into(),
            Box::new(unknown(RowNow::Unread(quoted()))).into(),
            Error::TableNotFound(name()),
            Error::TableBeingDeleted(name()),
            Box::new(service(words, words)).into(),
            Box::new(service("Code", words)).into(),
            Box::new(service(words, "Message")).into(),
            Error::NoAnswer { table: quoted(), operation: "insert", reason: quoted() },
            Error::Configuration(name()),
            Error::InUse(PathBuf::from("posts.tables")),
            Error::Store(words.into()),
            Error::Damaged { row: row(words), damage: DamagedProperties },
            Error::Random(getrandom::Error::UNSUPPORTED),
        ]
    }

    #[test]
    fn no_error_ends_in_nothing() {
        for words in ["", "x"] {
            for error in every_kind(words) {
                let told = error.to_string();
                assert_eq!(told, told.trim(), "{error:?}");
                assert!(!told.contains("  ") && !told.contains(" :") && !told.contains("()"), "{told}");
                assert!(!told.contains(" ,") && !told.contains(" ;"), "{told}");
                assert!(!told.ends_with([':', ',', ';', '(']) && !told.starts_with([':', ',', '(']), "{told}");
            }
        }
    }

    #[test]
    fn an_answer_without_words_is_told_by_its_status() {
        let told = |table: &str, code: &str, message: &str| {
            let (table, code, message) = (table.to_owned(), code.to_owned(), message.to_owned());
            ServiceError { table, operation: "insert", status: 409, code, message }.to_string()
        };
        assert_eq!(told("Posts", "", ""), "insert of Posts: the service answered 409");
        assert_eq!(told("Posts", "Conflict", ""), "insert of Posts: the service answered 409 Conflict");
        assert_eq!(told("Posts", "", "No."), "insert of Posts: the service answered 409: No.");
        assert_eq!(told("Posts", "Conflict", "No."), "insert of Posts: the service answered 409 Conflict: No.");
        assert_eq!(told("", "", ""), "insert: the service answered 409");
    }
}
