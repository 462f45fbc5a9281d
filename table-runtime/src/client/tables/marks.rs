//! Marks: the rows by which relays find the partitions with events, and the leases under which a handle relies on them.
//!
//! A commit that records events is sent only while the handle holds a lease of the mark of their partition. The lease
//! begins when the handle begins to write the mark. A relay deletes a mark after it has found no event for longer than a lease,
//! under the version that it has read, and each write of a mark gives it another version.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Mutex,
    time::Duration,
};

use table_store::unstable::{RowKeys, limits};

use super::lease::lock;

/// Maximum number of leases that a handle holds. A lease that is forgotten costs a write of its mark.
const MOST: usize = 1 << 16;

/// The lease of a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkLease {
    /// Time at which the handle began to write the mark, by the backend's clock.
    pub began: Duration,
    pub length: Duration,
}

impl MarkLease {
    /// Returns the time until the lease ends; zero if it has ended.
    pub fn left(self, now: Duration) -> Duration {
        (self.began + self.length).saturating_sub(now)
    }

    /// Returns the time until half of the lease is over; `None` if it is.
    pub fn until_half(self, now: Duration) -> Option<Duration> {
        (self.began + self.length / 2).checked_sub(now).filter(|left| !left.is_zero())
    }
}

/// The marks of a handle.
#[derive(Debug, Default)]
pub struct Marks {
    held: Mutex<HashMap<RowKeys, MarkLease>>,
    /// Marks that tasks need now or soon. The task whose turn it is writes those of its bucket together.
    waiting: Mutex<BTreeSet<RowKeys>>,
}

impl Marks {
    /// Returns the lease of a mark that was begun after this time, or at any time.
    pub fn held(&self, mark: &RowKeys, after: Option<Duration>) -> Option<MarkLease> {
        lock(&self.held).get(mark).copied().filter(|lease| after.is_none_or(|after| lease.began > after))
    }

    /// Adds a mark that a task needs, unless there are too many: the task then writes it alone.
    pub fn announce(&self, mark: RowKeys) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < MOST {
            waiting.insert(mark);
        }
    }

    /// Removes a mark that another task has written.
    pub fn written_by_another(&self, mark: &RowKeys) {
        lock(&self.waiting).remove(mark);
    }

    /// Takes marks of one bucket that tasks need, this one among them, as many as a transaction has room for.
    pub fn take(&self, mark: &RowKeys) -> Vec<RowKeys> {
        let mut waiting = lock(&self.waiting);
        waiting.remove(mark);
        let first = RowKeys { partition_key: mark.partition_key.clone(), row_key: String::new() };
        let of_bucket = waiting.range(first..).take_while(|other| other.partition_key == mark.partition_key);
        let taken: Vec<_> = of_bucket.take(limits::OPERATIONS - 1).cloned().chain([mark.clone()]).collect();
        for mark in &taken {
            waiting.remove(mark);
        }
        taken
    }

    pub fn keep(&self, marks: Vec<RowKeys>, lease: MarkLease) {
        let mut held = lock(&self.held);
        if held.len() + marks.len() > MOST {
            held.retain(|_, held| !held.left(lease.began).is_zero());
        }
        if held.len() + marks.len() > MOST {
            held.clear();
        }
        held.extend(marks.into_iter().map(|mark| (mark, lease)));
    }
}
