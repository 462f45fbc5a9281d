//! Functions of errors that users of other clients expect: see [`hints`](crate::unstable::hints).

use super::Error;
use crate::{hints, missing};

hints! {
    WithoutVariant: "the reason of an error is its variant", "write `matches!(error, Error::AlreadyExists(_))`",
        "`insert` found a row with these keys: `Error::AlreadyExists`; the row changed since it was read: \
         `Error::ConditionNotMet`; a unique value belongs to another entity: `Error::UniqueViolation`; no such row: \
         `Error::NotFound`",
        "`error.status()` is the HTTP status of an answer: 409 for `AlreadyExists` and `UniqueViolation`, 412 for \
         `ConditionNotMet`, 404 for `NotFound`";
    IsNotFound: "the reason of an error is its variant", "write `matches!(error, Error::NotFound(_))`",
        "`get` of a row that is missing is no error: it returns `None`", "a table that was not created: `Error::TableNotFound`";
    IsUniqueViolation: "the reason of an error is its variant", "write `matches!(error, Error::UniqueViolation(_))`";
    Status: "the HTTP status of an answer is `status`", "write `error.status()`",
        "the reason of an error is its variant: `matches!(error, Error::AlreadyExists(_))`";
    Retried: "the backend has already tried again what it may", "write `matches!(error.status(), 429 | 503)` for later",
        "a write that may have been made is `Error::OutcomeUnknown`, and must be looked at first";
    Unanswered: "the reason of an error is its variant", "match `Error::NoAnswer` and `Error::OutcomeUnknown`",
        "`NoAnswer`: nothing was written; `OutcomeUnknown`: it is not known whether the write was made";
    Message: "the text of an error is its `Display`", "write `error.to_string()` for a log",
        "for a client, without keys and values: `error.public_message()`";
    Typed: "an error is an enum, and no trait object", "match its variant: `Error::UniqueViolation(violation)`";
    NotMade: "a program makes no errors of this crate", "no such constructor",
        "a function with errors of its own returns an enum, with `#[from] table_runtime::Error` for these, or `anyhow::Result`";
}

impl Error {
    missing! { WithoutVariant: is_conflict(), is_already_exists(), is_duplicate(), code(), kind(), error_code() }
    missing! { IsNotFound: is_not_found(), is_missing() }
    missing! { IsUniqueViolation: is_unique_violation() }
    missing! { Status: status_code(), http_status(), as_status() }
    missing! { Retried: is_retryable(), is_transient(), is_retriable(), should_retry(), retry_after() }
    missing! { Unanswered: is_timeout(), is_timed_out(), is_connect() }
    missing! { Message: message(), description(), details() }
    missing! { generic Typed: downcast_ref<T>() -> Option<&'static T>, downcast<T>() -> Result<T, Self>, is<T>() -> bool }
    missing! { static NotMade: new(_), custom(_), other(_), msg(_) }
}
