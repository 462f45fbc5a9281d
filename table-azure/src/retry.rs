//! Retries of requests.

use std::{future::Future, time::Duration};

use table_store::unstable::retry::RetryPolicy;
use tokio::time::{Instant, sleep};

use super::failure::RequestFailure;

/// Effect of a request that is applied twice, or later than its caller expects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// No harm: the request is a read, or creates a table.
    Harmless,
    /// Possible harm: the request is a write. It is sent again only if it was certainly not applied.
    Harmful,
}

/// Limits of the retries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    /// Maximum number of times that a request is sent.
    pub(super) attempts: usize,
    /// Time after the first attempt within which a further attempt may begin.
    pub(super) total: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, total: Duration::from_mins(1) }
    }
}

impl Retry {
    /// Calls `attempt` until it succeeds, or until a further attempt would be useless, could do harm, or would begin
    /// too late.
    pub(super) async fn run<T, F>(
        self,
        repeat: Repeat,
        mut attempt: impl FnMut(usize) -> F,
    ) -> Result<T, RequestFailure>
    where
        F: Future<Output = Result<T, RequestFailure>>,
    {
        let begin = Instant::now();
        let (min_delay, max_delay) = (Duration::from_millis(100), Duration::from_secs(10));
        let mut delays = RetryPolicy { min_delay, max_delay, attempts: self.attempts }.delays();
        let mut n = 0;
        loop {
            n += 1;
            let failure = match attempt(n).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let again = match repeat {
                Repeat::Harmless => failure.may_pass(),
                Repeat::Harmful => failure.harmless(),
            };
            let Some(delay) = delays.next().filter(|_| again) else { return Err(failure) };
            let delay = delay.max(failure.retry_after().unwrap_or_default());
            if begin.elapsed().saturating_add(delay) > self.total {
                return Err(failure);
            }
            sleep(delay).await;
        }
    }
}
