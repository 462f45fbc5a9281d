//! One task whose requests a test grants one after another.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use anyhow::{Result, bail};
use table_runtime::testing::{Request, Schedule};

/// Largest number of requests of a task.
const REQUESTS: usize = 10_000;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is carried out and answered.
    Grant,
    /// Its answer is lost. It is not carried out now: the schedule keeps it.
    Lose,
}

/// Polls a future to its end. Calls `next` with each request that it waits for, and does with the request what that
/// returns.
///
/// # Errors
/// The future does not end.
pub async fn drive<T>(
    schedule: &Schedule,
    future: impl Future<Output = T>,
    mut next: impl AsyncFnMut(&Request) -> Next,
) -> Result<T> {
    let mut future = pin!(future);
    for _ in 0..REQUESTS {
        let waits = poll_fn(|context| {
            if let Poll::Ready(result) = future.as_mut().poll(context) {
                return Poll::Ready(Err(result));
            }
            let waiting = schedule.waiting();
            let at = waiting.iter().position(|waiting| !waiting.is_dropped && !waiting.is_granted);
            at.map_or(Poll::Pending, |at| Poll::Ready(Ok((at, Arc::clone(&waiting[at].request)))))
        });
        let (at, request) = match waits.await {
            Ok(waiting) => waiting,
            Err(result) => return Ok(result),
        };
        match next(&request).await {
            Next::Grant => drop(schedule.grant(at)),
            Next::Lose => schedule.lose(at),
        }
    }
    bail!("the task does not end")
}
