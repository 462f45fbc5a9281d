//! Answers of a web service for errors.

use std::borrow::Cow;

use super::KeyError;
use crate::Error;

/// Status for a request that asks for something impossible.
const BAD_REQUEST: u16 = 400;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
const PRECONDITION_FAILED: u16 = 412;
const TOO_MANY_REQUESTS: u16 = 429;
/// Status for stored rows that the program cannot read, and for a program that is set up wrongly.
const INTERNAL: u16 = 500;
/// Status for a condition that ends without a change of the request.
const UNAVAILABLE: u16 = 503;

impl Error {
    /// Returns the HTTP status with which a web service answers this error.
    ///
    /// | status | errors | [`public_message`](Self::public_message) |
    /// |---|---|---|
    /// | 400 | `Key` and `Property` of a value that cannot be stored | `` `title` has a value that cannot be stored `` |
    /// | 400 | `Limit` | it is too large |
    /// | 400 | `Query` | the query cannot be run |
    /// | 400 | `Cursor` | the cursor is not valid here |
    /// | 400 | `KeyChanged` | the key cannot be changed |
    /// | 400 | `Source` | the input is not valid |
    /// | 404 | `NotFound` | it does not exist |
    /// | 409 | `AlreadyExists` | it already exists; or: it already exists, in the bin |
    /// | 409 | `UniqueViolation` | `` `email` is already taken ``; or: `` `email` is already taken, in the bin `` |
    /// | 409 | `Aborted` | it took too long; try again |
    /// | 412 | `ConditionNotMet` | it has changed meanwhile |
    /// | 429 | `Service` with status 429 | there are too many requests; try again later |
    /// | 500 | `Key`, `Property`, `UnknownProperties`, `Version` and `Damaged` of a stored row; `Configuration`, `InUse`, `Store`, `Random`, and `Service` with a status of 400 to 499 | the service has an error |
    /// | 503 | `OutcomeUnknown` | it is not known whether the change was made |
    /// | 503 | everything else: no answer, a `Service` with a status of 500 or more, an index that is not ready, a struct that does not fit the records of the catalog | the service is not available; try again later |
    ///
    /// [`Error::Bulk`] has the status and the message of its first failure. Its
    /// [`failures`](crate::error::BulkError::failures) have each their own.
    ///
    /// ```
    /// use table_runtime::Error;
    ///
    /// /// Returns the status and the body of an answer.
    /// fn answer(error: &Error) -> (u16, String) {
    ///     if error.status() >= 500 {
    ///         eprintln!("{error}"); // for the log: the message names rows
    ///     }
    ///     (error.status(), error.public_message().into_owned())
    /// }
    /// let refused = Error::TableNotFound("Posts".into());
    /// assert_eq!(answer(&refused), (503, "the service is not available; try again later".to_owned()));
    /// ```
    pub fn status(&self) -> u16 {
        match self {
            Self::Key(error) if error.is_of_a_stored_row() => INTERNAL,
            Self::Property(error) if error.stored => INTERNAL,
            Self::Key(_)
            | Self::Property(_)
            | Self::Limit(_)
            | Self::Query(_)
            | Self::Cursor(_)
            | Self::KeyChanged(_)
            | Self::Source(_) => BAD_REQUEST,
            Self::NotFound(_) => NOT_FOUND,
            Self::AlreadyExists(_) | Self::UniqueViolation(_) | Self::Aborted(_) => CONFLICT,
            Self::ConditionNotMet(_) => PRECONDITION_FAILED,
            Self::Bulk(error) => error.first().status(),
            Self::Service(error) => match error.status {
                TOO_MANY_REQUESTS => TOO_MANY_REQUESTS,
                BAD_REQUEST..INTERNAL => INTERNAL,
                _ => UNAVAILABLE,
            },
            Self::UnknownProperties(_)
            | Self::Version(_)
            | Self::Damaged { .. }
            | Self::Configuration(_)
            | Self::InUse(_)
            | Self::Store(_)
            | Self::Random(_) => INTERNAL,
            Self::IndexBuilding { .. }
            | Self::IndexNotRecorded { .. }
            | Self::IndexDropped { .. }
            | Self::IndexMissing(_)
            | Self::EntityMoved { .. }
            | Self::EntityMigrating { .. }
            | Self::NewerCatalog { .. }
            | Self::LayoutChanged(_)
            | Self::RowsCollide(_)
            | Self::OutcomeUnknown(_)
            | Self::TableNotFound(_)
            | Self::TableBeingDeleted(_)
            | Self::NoAnswer { .. } => UNAVAILABLE,
        }
    }

    /// Returns a message that a web service can show to anybody. It has no key, no value and no name of a table, and does
    /// not tell who has the value of a unique index. It names the field of a value that cannot be stored, and the index
    /// of a value that is taken. [`status`](Self::status) has a table of the messages.
    pub fn public_message(&self) -> Cow<'static, str> {
        match self {
            Self::Key(error) if !error.is_of_a_stored_row() => refused(error.field),
            Self::Property(error) if !error.stored => refused(&error.property),
            Self::Limit(_) => "it is too large".into(),
            Self::Query(_) => "the query cannot be run".into(),
            Self::Cursor(_) => "the cursor is not valid here".into(),
            Self::KeyChanged(_) => "the key cannot be changed".into(),
            Self::Source(_) => "the input is not valid".into(),
            Self::NotFound(_) => "it does not exist".into(),
            Self::AlreadyExists(row) if row.is_in_bin() => "it already exists, in the bin".into(),
            Self::AlreadyExists(_) => "it already exists".into(),
            Self::UniqueViolation(error) => {
                format!("`{}` is already taken{}", error.index, if error.in_bin { ", in the bin" } else { "" }).into()
            }
            Self::Aborted(_) => "it took too long; try again".into(),
            Self::ConditionNotMet(_) => "it has changed meanwhile".into(),
            Self::OutcomeUnknown(_) => "it is not known whether the change was made".into(),
            Self::Bulk(error) => error.first().public_message(),
            _ => match self.status() {
                TOO_MANY_REQUESTS => "there are too many requests; try again later".into(),
                UNAVAILABLE => "the service is not available; try again later".into(),
                _ => "the service has an error".into(),
            },
        }
    }
}

impl KeyError {
    /// Checks whether a stored key is wrong, not a value that was to be stored.
    fn is_of_a_stored_row(&self) -> bool {
        self.row.is_some()
    }
}

fn refused(field: &str) -> Cow<'static, str> {
    format!("`{field}` has a value that cannot be stored").into()
}
