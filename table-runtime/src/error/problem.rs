//! Reasons why a value does not fit a key or a property.

use std::borrow::Cow;

/// Why a value cannot stand in a key, or a key cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// An integer does not fit its digits.
    #[error("{value} does not fit {digits} digits")]
    Digits {
        /// The value.
        value: String,
        /// The digits of `pad`.
        digits: usize,
    },
    /// A time is outside the years 0001 to 9999.
    #[error("the time {seconds} s of Unix time is outside the years 0001 to 9999")]
    Time {
        /// Whole seconds of Unix time.
        seconds: i64,
    },
    /// A date is outside the years 0001 to 9999.
    #[error("the date {year}-{month:02}-{day:02} is outside the years 0001 to 9999")]
    #[allow(missing_docs, reason = "they say themselves")]
    Date { year: i32, month: u8, day: u8 },
    /// A `raw` text holds a character that keys cannot hold, or the delimiter that ends it.
    #[error(
        "{value:?} holds {character:?}; a `raw` key part cannot hold `/`, `\\`, `#`, `?`, control characters, \
         or a separator that ends it"
    )]
    Character {
        /// The text.
        value: String,
        /// The first such character.
        character: char,
    },
    /// The key gets too long by this part.
    #[error("it makes the {key} {units} UTF-16 units long; the limit is 512")]
    TooLong {
        /// `PartitionKey` or `RowKey`.
        key: &'static str,
        /// The key's length with this part.
        units: usize,
    },
    /// A stored key is not one that the layout writes.
    #[error("expected {expected}, found {found:?}")]
    Malformed {
        /// What the part or key should be.
        expected: Cow<'static, str>,
        /// What stands there.
        found: String,
    },
}

impl KeyProblem {
    pub(crate) fn malformed(expected: impl Into<Cow<'static, str>>, found: &str) -> Self {
        Self::Malformed { expected: expected.into(), found: found.to_owned() }
    }

    /// A name that is none of an enum's.
    pub(crate) fn unknown_name(found: &str, names: &[&str]) -> Self {
        Self::malformed(one_of(names), found)
    }
}

/// Why a field and a property do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyProblem {
    /// What was expected.
    pub expected: Cow<'static, str>,
    /// What was found.
    pub found: String,
}

/// ``one of `A`, `B` ``
pub(crate) fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}
