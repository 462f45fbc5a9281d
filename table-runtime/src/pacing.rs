//! Pacing of requests: delays between attempts, concurrency, yielding.

use std::{future::poll_fn, task::Poll};

use backon::ExponentialBackoff;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    Error, Result,
    backend::{Backend, BoxFuture},
    retry::RetryPolicy,
};

/// Number of requests that one read or write sends concurrently.
pub(crate) const CONCURRENCY: usize = 16;

/// Returns the delays before the attempts of a write that lost a race to another writer.
pub(crate) fn delays() -> ExponentialBackoff {
    RetryPolicy::RACE.delays()
}

/// Waits before the next attempt. Returns `error` if no attempt is left.
pub(crate) async fn wait(backend: &dyn Backend, delays: &mut ExponentialBackoff, error: Error) -> Result<()> {
    let Some(delay) = delays.next() else { return Err(error) };
    backend.pause(delay).await;
    Ok(())
}

/// Runs the futures concurrently, at most [`CONCURRENCY`] at a time, and returns their results in order.
pub(crate) async fn concurrently<T: Send>(futures: Vec<BoxFuture<'_, Result<T>>>) -> Result<Vec<T>> {
    stream::iter(futures).buffered(CONCURRENCY).try_collect().await
}

/// Yields to other tasks once. An input and a store that are always ready would otherwise never let the task yield.
pub(crate) async fn yield_now() {
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
