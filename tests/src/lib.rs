//! What the tests share.

pub mod anything;
pub mod azurite;
pub mod explore;
pub mod faulty;
pub mod filled;
pub mod form;
pub mod history;
pub mod isolated;
pub mod items;
pub mod load;
pub mod plain;
pub mod probed;
pub mod programs;
pub mod random;
pub mod scheduled;
pub mod scripted;
pub mod stores;
pub mod subjects;
pub mod turns;

/// The README's programs.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
