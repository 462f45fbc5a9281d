//! Jobs over all rows of entities: verification, repair, backfill, sweep; and the builder of every job.

mod backfill;
mod compare;
mod delete_all;
mod described;
mod examine;
mod finding;
mod hashes;
mod job;
mod marks;
mod position;
mod present;
mod reindex;
mod repair;
mod sample;
mod sweep;
mod verify;

pub use backfill::{Backfill, Backfilled};
pub use compare::{Compared, RowComparison, Suspect};
pub use delete_all::DeleteAll;
pub use described::{Described, RowPlace};
pub use finding::Finding;
pub use job::{
    Comparing, Discarding, Job, JobKind, JobOptions, OfPartitions, Progress, Rehearsable, Resumable, Sharded,
};
pub use marks::{EventTables, event_sections};
pub use position::{JobPosition, Phase, hash_described, hash_job};
pub use repair::{Repair, Repaired};
pub use sample::VerifiedSample;
pub use sweep::{Sweep, Sweeping, Swept};
pub use verify::{Verified, Verify};
