//! The handle of a store, what it holds of the catalog, and the way of its requests.

pub mod pacing;
pub mod tables;
