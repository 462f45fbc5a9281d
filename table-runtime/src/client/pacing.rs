//! Pacing of requests: delays between attempts, concurrency, yielding.

use std::{
    future::poll_fn,
    task::Poll,
    time::{Duration, Instant},
};

use backon::ExponentialBackoff;
use futures_util::{StreamExt, TryStreamExt, future::join_all, stream};
use table_store::{
    Error, Result,
    backend::BoxFuture,
    unstable::{client::Client, retry::RetryPolicy},
};

/// Number of requests that one read or write sends concurrently.
pub const CONCURRENCY: usize = 16;

/// Maximum delay before an attempt of a write that lost a race to another writer.
const MAX_DELAY: Duration = Duration::from_millis(200);

/// The delays before the attempts of a write that lost a race to another writer.
///
/// Each is a multiple of the time that the attempt before it took, so that writers of a fast store wait for a short time
/// only. The multiples double, with jitter.
#[derive(Debug)]
pub struct Delays {
    /// The multiples, in seconds; `None` before the first delay.
    multiples: Option<ExponentialBackoff>,
    /// When the present attempt began.
    began: Instant,
}

/// Returns the delays of a write whose first attempt begins now.
pub fn delays() -> Delays {
    Delays { multiples: None, began: Instant::now() }
}

impl Delays {
    /// Notes that an attempt begins now.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Waits before the next attempt. Returns false if no attempt is left.
    pub async fn wait(&mut self, backend: &Client) -> bool {
        let multiples = self.multiples.get_or_insert_with(|| RetryPolicy::RACE.delays());
        let Some(multiple) = multiples.next() else { return false };
        let delay = self.began.elapsed().as_secs_f64() * multiple.as_secs_f64();
        backend.pause(Duration::try_from_secs_f64(delay).unwrap_or(MAX_DELAY).min(MAX_DELAY)).await;
        self.begin();
        true
    }
}

/// Waits before the next attempt. Returns `error` if no attempt is left.
pub async fn wait(backend: &Client, delays: &mut Delays, error: Error) -> Result<()> {
    if delays.wait(backend).await { Ok(()) } else { Err(error) }
}

/// Shortest and longest time that a writer gets to commit its pending insert.
const GIVEN_TIME: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Waits until the writer of a pending insert had time to commit it: for three to six times as long as the read took that
/// has shown it, and began at `asked`. If each writer deleted what it finds pending at once, several that want one key or
/// one value would make each other begin anew again and again.
pub async fn give_time(backend: &Client, asked: Instant) {
    let (min, max) = GIVEN_TIME;
    let min_delay = asked.elapsed().saturating_mul(3).clamp(min, max / 2);
    // Jitter adds up to as much again.
    let delay = RetryPolicy { min_delay, max_delay: max, attempts: 2 }.delays().next();
    backend.pause(delay.unwrap_or(max)).await;
}

/// Runs the futures concurrently, at most [`CONCURRENCY`] at a time, and returns their results in order.
pub async fn concurrently<T: Send>(futures: Vec<BoxFuture<'_, Result<T>>>) -> Result<Vec<T>> {
    stream::iter(futures).buffered(CONCURRENCY).try_collect().await
}

/// Number of rows of one entity that are written or read at the same time. An index with `each` may have any number of
/// them.
///
/// `join_all` polls so many futures one after another. It polls more in a way that would make a bulk write send its requests
/// too early.
const WAVE: usize = 30;

/// Runs the futures, at most [`WAVE`] at a time, and returns their results in order.
pub async fn in_waves<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let futures: Vec<_> = futures.collect();
    let mut outputs = Vec::with_capacity(futures.len());
    let mut futures = futures.into_iter();
    while futures.len() > 0 {
        let wave: Vec<_> = futures.by_ref().take(WAVE).collect();
        outputs.extend(join_all(wave).await);
    }
    outputs
}

/// Yields to other tasks once. An input and a store that are always ready would otherwise never let the task yield.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
