//! Metrics of relays, for the recorder of the crate `metrics` that the program has installed.

use std::time::Duration;

use metrics::{counter, gauge};

const DELIVERED: &str = "table_events_delivered_total";
const FAILED: &str = "table_events_failed_total";
const OLDEST: &str = "table_events_oldest_age_seconds";

/// Records what the delivery of a partition has done, and the age of the oldest event that is left in any of them.
pub fn record(entity: &str, (delivered, failed): (usize, usize), oldest: Duration) {
    let entity = entity.to_owned();
    counter!(DELIVERED, "entity" => entity.clone()).increment(delivered as u64);
    counter!(FAILED, "entity" => entity.clone()).increment(failed as u64);
    gauge!(OLDEST, "entity" => entity).set(oldest.as_secs_f64());
}
