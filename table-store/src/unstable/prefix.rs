//! Prefix of the names of tables.
//!
//! A prefix is letters and then digits, once or several times, and the name of a table begins with a letter. The table of a
//! prefix must not itself begin with letters, digits and a letter: it would be the table of a longer prefix. So a whole
//! name is divided into a prefix and a name in one way only.

use std::fmt;

use crate::{
    Result,
    backend::{FailedGroup, Group},
    unstable::limits,
};

/// The beginning of the names of a handle's tables.
#[derive(Clone)]
pub(super) struct Prefix {
    text: Box<str>,
    /// The part of the prefix that is none.
    wrong: Option<Box<str>>,
}

impl Prefix {
    pub(super) fn new(text: &str) -> Self {
        let wrong = limits::check_prefix(text).is_err().then(|| text.into());
        Self { text: text.into(), wrong }
    }

    /// Returns this prefix with another one after it.
    pub(super) fn longer(&self, prefix: &str) -> Self {
        let wrong = self.wrong.clone().or(Self::new(prefix).wrong);
        Self { text: [&*self.text, prefix].concat().into(), wrong }
    }

    /// Returns the whole name of a table.
    ///
    /// # Errors
    /// Returns [`Error::Limit`](crate::Error::Limit) if the prefix is none, if no table can have the whole name, or if a
    /// longer prefix could have it. Earlier checks are limited to the name without the prefix.
    pub(super) fn name(&self, table: &str) -> Result<String> {
        let name = self.before(table)?;
        limits::check_prefixed_name(table, &name)?;
        Ok(name)
    }

    /// Returns the prefix with the beginning of a name after it.
    ///
    /// # Errors
    /// Returns [`Error::Limit`](crate::Error::Limit) if the prefix is none.
    pub(super) fn before(&self, beginning: &str) -> Result<String> {
        self.wrong.as_deref().map_or(Ok(()), limits::check_prefix)?;
        Ok([&*self.text, beginning].concat())
    }

    /// Returns the name of a table without the prefix; `None` if a longer prefix has the table.
    pub(super) fn own_name(&self, name: &str) -> Option<String> {
        // A store that ignores case also lists tables whose prefix was written in another case.
        name.get(self.text.len()..).filter(|name| limits::is_own_name(name)).map(str::to_owned)
    }

    /// Returns the groups of a transaction with the whole names of their tables.
    pub(super) fn groups(&self, groups: &[Group]) -> Result<Vec<Group>, FailedGroup> {
        let named = |(position, group): (usize, &Group)| match self.name(&group.table) {
            Ok(table) => Ok(Group { table: table.into(), ..group.clone() }),
            Err(error) => Err(FailedGroup { group: position, error }),
        };
        groups.iter().enumerate().map(named).collect()
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}
