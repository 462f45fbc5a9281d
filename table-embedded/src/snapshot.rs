//! The state that readers see: the tables as of the last commit.

use std::{
    cmp::Ordering,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase, TableDefinition, TableHandle};
use table_store::{Error, Result, backend::InProcess};

use super::failure::{Reason, StoreError, engine};

/// Returns the definition of a table of rows, by the name that it was created with. Names of the service's tables
/// consist of letters and digits, so the store's own table cannot collide with them.
pub(super) const fn rows(table: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(table)
}

/// A table of rows, opened for reading.
pub(super) type RowTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Names of the tables as they were created, in order. Names that differ only in case are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<Box<str>>);

impl Names {
    /// Returns the names of the tables of rows in a file.
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

    /// Returns the name as it was created; `None` if there is no such table.
    pub(super) fn get(&self, table: &str) -> Option<&str> {
        self.find(table).ok().map(|at| &*self.0[at])
    }

    /// Adds a name. Returns false if it already exists.
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

    /// Returns the names that begin with `prefix`.
    pub(super) fn beginning_with(&self, prefix: &str) -> Vec<String> {
        let begins = |name: &str| name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix));
        self.0.iter().filter(|name| begins(name)).map(|name| String::from(&**name)).collect()
    }
}

fn compare(left: &str, right: &str) -> Ordering {
    // Most names are written as the table was created.
    if left == right {
        return Ordering::Equal;
    }
    left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The tables as of one commit.
pub(super) struct Snapshot {
    transaction: ReadTransaction,
    names: Arc<Names>,
    /// Tables of `names`, in the same order. The first reader of a table opens it, so that a commit does not open them
    /// all.
    opened: Box<[OnceLock<RowTable>]>,
}

impl Snapshot {
    pub(super) fn new(database: &impl ReadableDatabase, names: Arc<Names>) -> Result<Self, redb::TransactionError> {
        let opened = names.0.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { transaction: database.begin_read()?, names, opened })
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the rows of a table.
    pub(super) fn rows(&self, table: &str) -> Result<&RowTable> {
        let at = self.names.find(table).map_err(|_| Error::TableNotFound(table.to_owned().into()))?;
        if let Some(rows) = self.opened[at].get() {
            return Ok(rows);
        }
        let opened = engine(|| self.transaction.open_table(rows(&self.names.0[at])))?.map_err(super::failure::store)?;
        Ok(self.opened[at].get_or_init(|| opened))
    }
}

/// The place where the committer puts the snapshot that readers take.
///
/// It is a lock around an `Arc`. Readers hold the lock while they clone the `Arc`, the committer holds it while it
/// exchanges the `Arc`.
pub(super) struct Published {
    state: RwLock<StoreState>,
    /// What the handles of the store share.
    pub(super) shared: InProcess,
}

enum StoreState {
    Open(Arc<Snapshot>),
    /// The state after the last commit cannot be read, or is unknown. The state before it must not be returned either.
    Unreadable(Reason),
    Closed,
}

impl Published {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self::of(Arc::new(snapshot))
    }

    pub(super) fn of(snapshot: Arc<Snapshot>) -> Self {
        Self { state: RwLock::new(StoreState::Open(snapshot)), shared: InProcess::default() }
    }

    /// Returns the snapshot of the last commit.
    pub(super) fn take(&self) -> Result<Arc<Snapshot>> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            StoreState::Open(snapshot) => Ok(Arc::clone(snapshot)),
            StoreState::Unreadable(reason) => Err(reason.clone().into()),
            StoreState::Closed => Err(StoreError::Stopped.into()),
        }
    }

    /// Returns the reason why the store was closed, if a failure closed it.
    pub(super) fn failure(&self) -> Option<Reason> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            StoreState::Unreadable(reason) => Some(reason.clone()),
            StoreState::Open(_) | StoreState::Closed => None,
        }
    }

    pub(super) fn publish(&self, snapshot: Result<Snapshot, Reason>) {
        self.exchange(match snapshot {
            Ok(snapshot) => StoreState::Open(Arc::new(snapshot)),
            Err(reason) => StoreState::Unreadable(reason),
        });
    }

    /// Ends the snapshot, so that no reader is left when the database is closed.
    pub(super) fn close(&self) {
        self.exchange(StoreState::Closed);
    }

    fn exchange(&self, state: StoreState) {
        let old = std::mem::replace(&mut *self.state.write().unwrap_or_else(PoisonError::into_inner), state);
        // Dropped outside the lock, because this may end the old snapshot's transaction.
        drop(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_case_are_equal() {
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
