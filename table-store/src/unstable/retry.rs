//! The retry policy: delays between the attempts of a request or a write.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays that double from attempt to attempt, with jitter.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    pub min_delay: Duration,
    pub max_delay: Duration,
    /// Maximum number of attempts, the first one included.
    pub attempts: usize,
}

impl RetryPolicy {
    /// The policy of a write that lost a race to another writer. A second stands for the time that an attempt took.
    pub const RACE: Self =
        Self { min_delay: Duration::from_secs(1), max_delay: Duration::from_secs(32), attempts: 201 };

    /// Returns the delays before the second attempt, the third one, and so on.
    pub fn delays(self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.min_delay)
            .with_max_delay(self.max_delay)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_jitter()
            .build()
    }
}
