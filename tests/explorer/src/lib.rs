//! The search of all interleavings of a few operations, and what it stands on.
//!
//! A package of its own, so that it is optimised while the tests are not: it takes most of their time.

pub mod explore;
pub mod form;
pub mod items;
pub mod plain;
pub mod scheduled;
