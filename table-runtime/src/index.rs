//! Indexes: the rows that lead from a value to its entities.

mod claim;
mod copied;
mod follow;
mod list_upkeep;
mod owner;
mod schema;
mod transaction;
mod upkeep;

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder, FuturesTimerSleeper, Sleeper};

pub use copied::Copied;
pub use owner::OwnerReader;
pub(crate) use owner::{owner, read_copy};
pub(crate) use schema::{Encoded, Schema};
pub(crate) use upkeep::Upkeep;

use crate::{Error, Result};

/// The pauses before a write that another writer was faster at is tried again.
fn delays() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(200))
        .with_max_times(200)
        .with_jitter()
        .build()
}

/// Waits before the next attempt; the error, if there was the last one.
async fn wait(delays: &mut ExponentialBackoff, error: Error) -> Result<()> {
    let Some(delay) = delays.next() else { return Err(error) };
    FuturesTimerSleeper.sleep(delay).await;
    Ok(())
}
