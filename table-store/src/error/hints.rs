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
}

impl Error {
    missing! { WithoutVariant: is_conflict(), is_already_exists(), is_not_found(), code(), kind(), error_code() }
}
