//! Everything that writes entities.

pub mod bin;
pub mod bulk;
pub mod group;
pub mod index;
mod modify;
pub mod transaction;
mod verbs;
pub mod writable;
