//! The catalog: the table `TableLayouts`, which records how the entities of a store are stored.
//!
//! `docs/catalog.md` describes its rows, and what is compared with them.

mod change;
mod compare;
mod defaults;
mod drop_index;
mod look;
mod rows;

pub use change::CatalogChange;
pub use compare::{Comparison, Decided, Decision, Options, RecordVersion, Relied, version};
pub use drop_index::{DropIndex, DroppedIndex, recorded_rows};
pub use look::{AbsentTables, Looked, forgettable};
pub use rows::{EntityRows, delete_rows, has_rows};
