//! The clock of a store.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use backon::{FuturesTimerSleeper, Sleeper};

use super::BoxFuture;
use crate::Ticks;

/// The clock of a store, by which all of its callers measure time and wait. A backend for tests can simulate it.
pub trait Clock: Send + Sync {
    /// Returns the time of a monotonic clock, since any fixed moment. It measures how long a handle may rely on what it
    /// read.
    fn monotonic(&self) -> Duration;

    /// Returns the date and the time of day. It may jump.
    fn wall(&self) -> Ticks;

    /// Returns the earliest time that it may be now. Callers judge by it whether something has expired, so that nothing is
    /// hidden or deleted too early. A store that is sure of its clock returns [`wall`](Self::wall).
    fn earliest(&self) -> Ticks {
        self.wall()
    }

    /// Returns true if [`wall`](Self::wall) is the time by which the store stamps its rows, as far as it is known. A test may have
    /// another time of day.
    fn is_of_store(&self) -> bool {
        true
    }

    /// Waits for this time, as [`monotonic`](Self::monotonic) measures it.
    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()>;
}

/// The purpose of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Waits before retrying an operation that lost a race to another writer. A clock for tests may wait for less time, or
    /// not at all.
    Retry,
    /// Waits until other handles do not rely any more on what they read before. All of the time has to pass.
    Whole,
    /// Waits for an answer. At the end, the caller gives up the write that was not answered. A clock for tests may wait for
    /// ever.
    Answer,
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }

    fn wall(&self) -> Ticks {
        Ticks::now()
    }

    fn sleep(&self, time: Duration, _: Sleep) -> BoxFuture<'_, ()> {
        Box::pin(FuturesTimerSleeper.sleep(time))
    }
}
