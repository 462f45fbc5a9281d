//! What the tests share.

pub mod azurite;
pub mod filled;
pub mod isolated;
pub mod load;
pub mod probed;
pub mod scripted;
pub mod stores;

/// The README's programs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
