//! The comparison of what was found with what the contract expects.

use std::{collections::BTreeMap, fmt};

use table_store::{Error, Result, Row, RowRef, ValueRef};

/// A difference between what the contract of a backend expects and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(String);

impl Failure {
    /// Returns the failure with this text.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A request that should succeed has failed.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(format!("a request that should succeed failed: {error}"))
    }
}

/// The result of a case.
pub(super) type Checked = Result<(), Failure>;

/// Checks that the value that was found is the expected one.
#[allow(clippy::needless_pass_by_value, reason = "an expected value is written where it is compared")]
pub(super) fn expect<T: PartialEq + fmt::Debug>(what: impl fmt::Display, found: T, expected: T) -> Checked {
    if found == expected {
        return Ok(());
    }
    Err(Failure(format!("{what}: expected {}, found {}", shown(&expected), shown(&found))))
}

/// Checks that a condition holds that has no value to show.
pub(super) fn ensure(holds: bool, otherwise: impl fmt::Display) -> Checked {
    if holds { Ok(()) } else { Err(Failure(otherwise.to_string())) }
}

/// Returns a value that is expected to be there.
pub(super) fn some<T>(what: impl fmt::Display, found: Option<T>) -> Result<T, Failure> {
    found.ok_or_else(|| Failure(format!("{what}: expected one, found none")))
}

/// Returns the `Debug` text of a value, cut short.
fn shown(value: &impl fmt::Debug) -> String {
    const MOST: usize = 1000;
    let text = format!("{value:?}");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

/// The outcome of a request, without the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Success,
    AlreadyExists(String),
    NotFound(String),
    ConditionNotMet(String),
    TableNotFound(String),
    Other(String),
}

impl Outcome {
    pub(super) fn of<T>(result: Result<T>) -> Self {
        match result {
            Ok(_) => Self::Success,
            Err(Error::AlreadyExists(row)) => Self::AlreadyExists(row.to_string()),
            Err(Error::NotFound(row)) => Self::NotFound(row.to_string()),
            Err(Error::ConditionNotMet(row)) => Self::ConditionNotMet(row.to_string()),
            Err(Error::TableNotFound(table)) => Self::TableNotFound(table.into_inner()),
            Err(error) => Self::Other(format!("{error:?}")),
        }
    }
}

/// Properties by name, each with the `Debug` text of its value: so a NaN equals a NaN, and a zero is not a negative zero.
pub(super) type Contents = BTreeMap<String, String>;

/// Returns the properties by name.
pub(super) fn contents<'a>(properties: impl IntoIterator<Item = (&'a str, ValueRef<'a>)>) -> Contents {
    properties.into_iter().map(|(name, value)| (name.to_owned(), format!("{value:?}"))).collect()
}

/// A row with its properties by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) keys: (String, String),
    pub(super) contents: Contents,
    pub(super) etag: String,
    pub(super) timestamp: String,
}

impl From<RowRef<'_>> for Seen {
    fn from(row: RowRef<'_>) -> Self {
        Self {
            keys: (row.partition_key.to_owned(), row.row_key.to_owned()),
            contents: contents(row.properties),
            etag: row.etag.to_string(),
            timestamp: row.timestamp.to_string(),
        }
    }
}

impl Seen {
    /// Returns the row as it was passed by reference to a request that selected these properties: the row may have more
    /// of them.
    pub(super) fn passed(row: RowRef<'_>, select: Option<&[&str]>) -> Self {
        let mut seen = Self::from(row);
        if let Some(select) = select {
            seen.contents.retain(|name, _| select.contains(&name.as_str()));
        }
        seen
    }
}

impl From<&Row> for Seen {
    fn from(row: &Row) -> Self {
        row.as_ref().into()
    }
}
