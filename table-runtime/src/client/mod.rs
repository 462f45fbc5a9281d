//! The handle of a store, what it holds of the catalog, the pacing of requests, and entities with the versions of their rows.

pub mod pace;
pub mod pacing;
pub mod sealed;
pub mod stored;
pub mod tables;
