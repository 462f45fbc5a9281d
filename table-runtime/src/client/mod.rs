//! The handle of a store, what it holds of the catalog, and the pacing of requests.

pub mod pace;
pub mod pacing;
pub mod tables;
