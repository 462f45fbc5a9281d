//! Scans of all rows of some layouts, several parts of them side by side.

mod alphabet;
mod place;
mod random;
mod section;
mod side_by_side;

#[cfg(test)]
pub use place::{Point, ScanPlace};
pub use place::{RowRange, includes, intersection};
pub use random::RandomPages;
pub use section::{ScannedPage, Section, Shard, all_rows, sections};
pub use side_by_side::SideBySide;
