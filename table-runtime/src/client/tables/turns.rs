//! Turns: the tasks of a process that read and change one row do so one after another.
//!
//! A store decides races by ETags, and the writers that lose begin again. With many writers of one row, most attempts are
//! lost, and a slow writer may lose them all. Writers that take turns lose no race to each other.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::{Either, select};
use table_store::unstable::{RowKeys, client::Client};
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

use super::lease::lock;

/// Time after which a task goes on without its turn. A task that has a turn may be waiting for this one, or may not be
/// polled.
const PATIENCE: Duration = Duration::from_secs(10);

/// A row by the whole name of its entity's table, and its keys.
type TurnRow = (String, RowKeys);

/// The rows that tasks read and change at this moment.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<TurnRow, Arc<Lock<()>>>>);

/// A place in the line for a row.
struct InLine<'a> {
    turns: &'a Turns,
    row: TurnRow,
    /// `None` once it is dropped.
    lock: Option<Arc<Lock<()>>>,
}

/// The turn to read and change a row, which ends when it is dropped.
pub struct Turn<'a> {
    // It is dropped first.
    _guard: Option<OwnedMutexGuard<()>>,
    _place: InLine<'a>,
}

impl Turns {
    fn place(&self, row: TurnRow) -> InLine<'_> {
        let mut rows = lock(&self.0);
        let lock = Arc::clone(rows.entry(row.clone()).or_default());
        InLine { turns: self, row, lock: Some(lock) }
    }

    /// Waits until all tasks that asked before have read and changed this row, and returns the turn of this one.
    pub async fn wait(&self, backend: &Client, row: TurnRow) -> Turn<'_> {
        let place = self.place(row);
        let Some(lock) = place.lock.clone() else { return Turn { _guard: None, _place: place } };
        let mut guard = Arc::clone(&lock).try_lock_owned().ok();
        if guard.is_none() {
            let locked = pin!(lock.lock_owned());
            guard = match select(locked, backend.sleep(PATIENCE)).await {
                Either::Left((guard, _)) => Some(guard),
                Either::Right(_) => None,
            };
        }
        Turn { _guard: guard, _place: place }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut rows = lock(&self.turns.0);
        // Under the mutex of the map, so that one of several places is the last.
        drop(self.lock.take());
        if rows.get(&self.row).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            rows.remove(&self.row);
        }
    }
}
