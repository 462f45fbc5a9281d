//! The catalog: the table `TableLayouts`, which records how the entities of a store are stored.
//!
//! `docs/catalog.md` describes its rows, and what is compared with them.

mod change;
mod compare;
mod decide;
mod drop_index;
mod gone;
mod look;
mod refusals;
mod rows;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use change::CatalogChange;
pub use compare::{ComparedEntity, Comparison, Decided, RecordVersion, Relied, version};
pub use decide::Options;
pub use drop_index::{DropIndex, DroppedIndex, recorded_rows};
pub use gone::forgettable;
pub use look::{AbsentTables, Looked};
pub use refusals::index_dropped;
pub use rows::{EntityRows, delete_rows, has_rows};
