//! Maintenance of indexes: verification, repair, backfill.

mod backfill;
mod compare;
mod finding;
mod hashes;
mod present;
mod progress;
mod reindex;
mod repair;
mod scan;
mod sweep;
mod verify;

pub use backfill::{Backfill, Backfilled};
pub use finding::Finding;
pub use progress::{Progress, ProgressCallback};
pub use repair::{Repair, Repaired};
pub use scan::{LayoutScan, ScannedPage};
pub use sweep::{Sweep, SweepProgress};
pub use verify::{Verified, Verify};
