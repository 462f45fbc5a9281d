//! What the tests share.

pub mod azurite;
pub mod scripted;
