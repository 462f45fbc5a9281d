//! Functions of errors that users of other clients expect. None of them can be called: they exist for the compiler's message.

use super::Error;

/// An error that is recognized without its variant. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "the reason of an error is its variant",
    label = "write `matches!(error, Error::AlreadyExists(_))`",
    note = "`insert` found a row with these keys: `Error::AlreadyExists`; the row changed since it was read: \
            `Error::ConditionNotMet`; a unique value belongs to another entity: `Error::UniqueViolation`; no such row: \
            `Error::NotFound`",
    note = "`error.status()` is the HTTP status of an answer: 409 for `AlreadyExists` and `UniqueViolation`, 412 for \
            `ConditionNotMet`, 404 for `NotFound`"
)]
pub trait WithoutVariant {}

/// The type that does not implement the trait.
#[derive(Debug)]
pub enum Reason {}

macro_rules! without_variant {
    ($($name:ident: $returned:ty;)+) => {$(
        #[doc(hidden)]
        pub fn $name(&self) -> $returned
        where
            for<'never> Reason: WithoutVariant,
        {
            unreachable!("no type implements the hint")
        }
    )+};
}

impl Error {
    without_variant! {
        is_conflict: bool;
        is_already_exists: bool;
        is_not_found: bool;
        code: &str;
        kind: &str;
        error_code: &str;
    }
}
