//! Tools that need no types of entities.

pub mod inventory;
pub mod transfer;
