//! Code that the test programs share.

pub use depth;
pub use explorer::{explore, form, items, past, plain};

pub mod anything;
pub mod azurite;
pub mod deployed;
pub mod documented;
pub mod driven;
pub mod far;
pub mod faulty;
pub mod filled;
pub mod guide;
pub mod history;
pub mod isolated;
pub mod load;
pub mod moved;
mod picture;
pub mod probed;
pub mod programs;
pub mod random;
pub mod relayed;
pub mod reporting;
pub mod scripted;
pub mod stores;
pub mod subjects;
pub mod tasks;
pub mod told;
pub mod traced;
pub mod turns;

/// Programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
