//! Everything that writes entities.

pub mod bin;
pub mod bulk;
pub mod group;
pub mod index;
mod lease;
mod modify;
mod row_hash;
pub mod transaction;
mod verbs;
pub mod writable;

pub use row_hash::RowHasher;
