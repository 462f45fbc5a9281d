//! Maintenance of indexes: verification, repair, backfill.

mod backfill;
mod finding;
mod progress;
mod repair;
mod scan;
mod verify;

pub use backfill::{Backfill, Backfilled};
pub use finding::Finding;
pub use progress::Progress;
pub use repair::{Repair, Repaired};
pub(crate) use scan::LayoutScan;
pub use verify::Verify;
