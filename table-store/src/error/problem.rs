//! Reasons why a value does not fit a key or a property.

use std::{borrow::Cow, fmt};

/// Reason why a value cannot be stored in a key, or why a key cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// An integer, or a decimal without its point, does not fit its digits.
    #[error("{value} does not fit {digits} digits")]
    Digits {
        /// The value.
        value: String,
        /// Number of digits of the type, or from `pad`.
        digits: usize,
    },
    /// A decimal has more places than its key part.
    #[error("{value} has more than {places} decimal places")]
    Places {
        /// The value.
        value: String,
        /// Number of places, from `scale`.
        places: u32,
    },
    /// A time is outside the years 0001 to 9999.
    #[error("the time {seconds} s of Unix time is outside the years 0001 to 9999")]
    Time {
        /// Whole seconds of Unix time.
        seconds: i64,
    },
    /// A date is outside the years 0001 to 9999.
    #[error("the date {year}-{month:02}-{day:02} is outside the years 0001 to 9999")]
    #[allow(missing_docs, reason = "the names describe the fields")]
    Date { year: i32, month: u8, day: u8 },
    /// A `raw` text contains a character that keys cannot hold, or the delimiter that ends it.
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
    /// The key becomes too long with this part.
    #[error("it makes the {key} {units} UTF-16 units long; the limit is 512")]
    TooLong {
        /// `PartitionKey` or `RowKey`.
        key: &'static str,
        /// The key's length with this part.
        units: usize,
    },
    /// A stored key does not have the form that the layout writes.
    #[error("expected {expected}, found {found:?}")]
    Malformed {
        /// Expected form of the part or key.
        expected: Cow<'static, str>,
        /// Stored text.
        found: String,
    },
}

impl KeyProblem {
    #[doc(hidden)]
    pub fn malformed(expected: impl Into<Cow<'static, str>>, found: &str) -> Self {
        Self::Malformed { expected: expected.into(), found: found.to_owned() }
    }

    /// Returns the problem of a name that is not one of the enum's names.
    #[doc(hidden)]
    pub fn unknown_name(found: &str, names: &[&str]) -> Self {
        Self::malformed(one_of(names), found)
    }
}

/// Reason why a field and a property do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyProblem {
    /// Expected type or value.
    pub expected: Cow<'static, str>,
    /// Found type or value.
    pub found: String,
}

/// Returns ``one of `A`, `B` ``.
pub fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("one of {}", names.join(", "))
}

/// Part of a message, with the delimiter before it; nothing is shown if the part is empty.
pub struct After<'a>(pub &'static str, pub &'a str);

impl fmt::Display for After<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(separator, text) = self;
        if text.is_empty() { Ok(()) } else { write!(f, "{separator}{text}") }
    }
}
