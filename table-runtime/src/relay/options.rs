//! The options of a relay.

use std::time::Duration;

/// Longest pause before an event is delivered again.
const LONGEST: Duration = Duration::from_secs(64);

#[derive(Clone, Copy, Debug)]
pub struct RelayOptions {
    /// Number of partitions from which events are delivered at the same time.
    pub side_by_side: usize,
    /// Number of times that an event is delivered before it has failed.
    pub attempts: u32,
    pub poll: Duration,
}

impl Default for RelayOptions {
    fn default() -> Self {
        Self { side_by_side: 16, attempts: 8, poll: Duration::from_secs(1) }
    }
}

impl RelayOptions {
    /// Returns the pause after so many failed attempts: 1, 2, 4 and up to 64 seconds, which are two minutes for 8 attempts.
    pub fn pause(attempts: u32) -> Duration {
        Duration::from_secs(1).saturating_mul(1 << attempts.saturating_sub(1).min(6)).min(LONGEST)
    }
}
