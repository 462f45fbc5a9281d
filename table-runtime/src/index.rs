//! Indexes: the rows that lead from a value to its entities.

mod backfill;
mod claim;
mod commit;
mod copied;
mod finding;
mod follow;
mod indexable;
pub(crate) mod list;
mod list_upkeep;
mod owner;
mod progress;
mod repair;
mod schema;
mod state;
mod sweep;
mod transaction;
mod upkeep;
mod verify;

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder, FuturesTimerSleeper, Sleeper};

pub use backfill::{Backfill, Backfilled};
pub(crate) use commit::{Planned, commit};
pub use copied::Copied;
pub use finding::Finding;
pub use indexable::Indexable;
pub use owner::{OwnerReader, point};
pub(crate) use owner::{owner, read_copy};
pub use progress::Progress;
pub use repair::{Repair, Repaired};
pub(crate) use schema::{Encoded, Schema};
pub(crate) use state::Ready;
pub(crate) use transaction::Change;
pub(crate) use upkeep::Upkeep;
pub use verify::Verify;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{Error, Result, backend::BoxFuture, tables::SIDE_BY_SIDE};

/// The pauses before a write that another writer was faster at is tried again.
pub(crate) fn delays() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(1))
        .with_max_delay(Duration::from_millis(200))
        .with_max_times(200)
        .with_jitter()
        .build()
}

/// Waits before the next attempt; the error, if there was the last one.
pub(crate) async fn wait(delays: &mut ExponentialBackoff, error: Error) -> Result<()> {
    let Some(delay) = delays.next() else { return Err(error) };
    FuturesTimerSleeper.sleep(delay).await;
    Ok(())
}

/// Runs these side by side, a bounded number at a time, and gives their results in order.
pub(crate) async fn side_by_side<T: Send>(futures: Vec<BoxFuture<'_, Result<T>>>) -> Result<Vec<T>> {
    stream::iter(futures).buffered(SIDE_BY_SIDE).try_collect().await
}
