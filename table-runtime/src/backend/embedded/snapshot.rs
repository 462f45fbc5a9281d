//! What readers see: the tables as the last commit left them.

use std::{
    cmp::Ordering,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, TableDefinition, TableHandle};

use super::failure::{Reason, StoreError, engine};
use crate::{Error, Result};

/// A table of rows, by the name that it was created with. Names of the service's tables are letters and digits; the
/// store's own table has another one.
pub(super) const fn rows(table: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(table)
}

/// A table of rows, opened for reading.
pub(super) type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The names of the tables, as they were created, in order; letters of either case are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<Box<str>>);

impl Names {
    /// The tables of rows that a file has.
    pub(super) fn read(transaction: &ReadTransaction) -> Result<Self, redb::StorageError> {
        let mut names = Self::default();
        for table in transaction.list_tables()? {
            let name = table.name();
            if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                names.insert(name);
            }
        }
        Ok(names)
    }

    fn find(&self, table: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|name| compare(name, table))
    }

    /// The name as it was created; `None` if there is no such table.
    pub(super) fn get(&self, table: &str) -> Option<&str> {
        self.find(table).ok().map(|at| &*self.0[at])
    }

    /// Adds a name, and says whether it was not there.
    pub(super) fn insert(&mut self, table: &str) -> bool {
        let place = self.find(table);
        if let Err(at) = place {
            self.0.insert(at, table.into());
        }
        place.is_err()
    }

    pub(super) fn remove(&mut self, table: &str) -> Option<Box<str>> {
        self.find(table).ok().map(|at| self.0.remove(at))
    }

    /// The names that begin with `prefix`.
    pub(super) fn beginning_with(&self, prefix: &str) -> Vec<String> {
        let begins = |name: &str| name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix));
        self.0.iter().filter(|name| begins(name)).map(|name| String::from(&**name)).collect()
    }
}

fn compare(left: &str, right: &str) -> Ordering {
    left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The tables as one commit left them.
pub(super) struct Snapshot {
    transaction: ReadTransaction,
    names: Arc<Names>,
    /// Each table of `names`, opened by its first reader, so that a commit does not open them all.
    opened: Box<[OnceLock<Rows>]>,
}

impl Snapshot {
    pub(super) fn new(database: &Database, names: Arc<Names>) -> Result<Self, redb::TransactionError> {
        let opened = names.0.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { transaction: database.begin_read()?, names, opened })
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// The rows of a table.
    pub(super) fn rows(&self, table: &str) -> Result<&Rows> {
        let at = self.names.find(table).map_err(|_| Error::TableNotFound(table.to_owned()))?;
        if let Some(rows) = self.opened[at].get() {
            return Ok(rows);
        }
        let opened = engine(|| self.transaction.open_table(rows(&self.names.0[at])))?.map_err(super::failure::store)?;
        Ok(self.opened[at].get_or_init(|| opened))
    }
}

/// Where the committer puts the snapshot that readers take.
///
/// A lock around an `Arc`: readers hold it for the time of a clone, the committer for that of an exchange.
pub(super) struct Published(RwLock<State>);

enum State {
    Open(Arc<Snapshot>),
    /// What the last commit left cannot be read, or is not known; what was there before must not be given out.
    Unreadable(Reason),
    Closed,
}

impl Published {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self(RwLock::new(State::Open(Arc::new(snapshot))))
    }

    /// The last commit's snapshot.
    pub(super) fn take(&self) -> Result<Arc<Snapshot>> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open(snapshot) => Ok(Arc::clone(snapshot)),
            State::Unreadable(reason) => Err(reason.clone().into()),
            State::Closed => Err(StoreError::Stopped.into()),
        }
    }

    /// Why the store was closed, if a failure closed it.
    pub(super) fn failure(&self) -> Option<Reason> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            State::Unreadable(reason) => Some(reason.clone()),
            State::Open(_) | State::Closed => None,
        }
    }

    pub(super) fn publish(&self, snapshot: Result<Snapshot, Reason>) {
        self.exchange(match snapshot {
            Ok(snapshot) => State::Open(Arc::new(snapshot)),
            Err(reason) => State::Unreadable(reason),
        });
    }

    /// Ends the snapshot, so that the database can be closed with no reader left.
    pub(super) fn close(&self) {
        self.exchange(State::Closed);
    }

    fn exchange(&self, state: State) {
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), state);
        // Outside the lock: it may end the old snapshot's transaction.
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_in_either_case() {
        let mut names = Names::default();
        assert!(names.insert("Posts"));
        assert!(names.insert("Authors"));
        assert!(names.insert("postsByTitle"));
        assert!(!names.insert("posts"));
        assert_eq!(names.get("POSTS"), Some("Posts"));
        assert_eq!(names.beginning_with(""), ["Authors", "Posts", "postsByTitle"]);
        assert_eq!(names.beginning_with("POST"), ["Posts", "postsByTitle"]);
        assert_eq!(names.beginning_with("é"), [""; 0]);
        assert_eq!(names.remove("pOSTS").as_deref(), Some("Posts"));
        assert_eq!(names.get("Posts"), None);
    }
}
