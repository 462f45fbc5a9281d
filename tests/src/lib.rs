//! What the tests share.

pub mod azurite;
pub mod isolated;
pub mod probed;
pub mod scripted;
pub mod stores;
