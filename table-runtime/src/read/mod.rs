//! Engine of queries, independent of entity types: which rows a query reads, and in which order.

pub mod cursor;
mod found;
pub mod list;
mod lookups;
mod merge;
mod once;
mod page;
mod plan;
mod point;
mod ready;
mod selection;
pub mod several;
mod slices;
mod source;
mod stages;
mod visible;

pub use cursor::Position;
pub use found::{FoundRow, OnRow, OnUnreadable, Skipping, Visit, skip_or_fail};
pub use page::OnePage;
pub use plan::{Plan, ReachedPartitions};
pub use point::{find, show};
pub use selection::{SelectedProperties, values, wants_keys};
pub use slices::{Slices, existing_slices};
pub use source::Source;
pub use visible::{Bin, Rules, Visible, member_of};
