//! What the handles of a store share that no other process uses.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Mutex as Lock, OwnedMutexGuard, watch};

/// What the handles of a store share that only this process uses: whoever waits for commits, and whoever is the only one
/// to do some work. The store has one value for all of its handles, and calls [`committed`](Self::committed).
#[derive(Debug, Default)]
pub struct InProcess {
    /// The tables for whose commits somebody waits, by their names in lower case.
    commits: Mutex<HashMap<String, watch::Sender<()>>>,
    /// The number of these tables, which a commit reads without the lock.
    watched: AtomicUsize,
    work: Mutex<HashMap<String, Arc<Lock<()>>>>,
}

/// The commits to a table from the moment on at which it was made.
#[derive(Clone, Debug)]
pub struct Commits(watch::Receiver<()>);

/// The right to do some work alone, which ends when it is dropped.
#[derive(Debug)]
pub struct OnlyOne {
    _guard: OwnedMutexGuard<()>,
}

impl InProcess {
    /// Returns the commits to a table from now on.
    pub fn commits(&self, table: &str) -> Commits {
        let mut commits = lock(&self.commits);
        let commits_of_table = commits.entry(table.to_ascii_lowercase()).or_insert_with(|| watch::Sender::new(()));
        let receiver = commits_of_table.subscribe();
        self.watched.store(commits.len(), Ordering::SeqCst);
        Commits(receiver)
    }

    /// Wakes those who wait for commits to one of these tables. The store calls it when readers see the commit.
    pub fn committed<'t>(&self, tables: impl IntoIterator<Item = &'t str>) {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut commits = lock(&self.commits);
        commits.retain(|_, waiting| !waiting.is_closed());
        self.watched.store(commits.len(), Ordering::SeqCst);
        for table in tables {
            if let Some(waiting) = commits.get(&table.to_ascii_lowercase()) {
                waiting.send_replace(());
            }
        }
    }

    /// Waits until nobody else does this work, and returns the right to do it alone.
    pub async fn only_one(&self, work: &str) -> OnlyOne {
        OnlyOne { _guard: self.turn(work).lock_owned().await }
    }

    /// Returns the right to do this work alone; `None` if somebody else does it.
    pub fn try_only_one(&self, work: &str) -> Option<OnlyOne> {
        Some(OnlyOne { _guard: self.turn(work).try_lock_owned().ok()? })
    }

    fn turn(&self, work: &str) -> Arc<Lock<()>> {
        Arc::clone(lock(&self.work).entry(work.to_owned()).or_default())
    }
}

impl Commits {
    /// Waits for a commit that was made after the last one that this function has returned for.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // The store is closed: there is no commit any more.
            std::future::pending::<()>().await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
