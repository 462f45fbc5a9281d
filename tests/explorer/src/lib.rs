//! The search of all interleavings of a few operations, with the plain store that it runs on.
//!
//! The package is optimised while the tests are not, because the search takes most of their time.

pub mod explore;
pub mod form;
pub mod items;
pub mod past;
pub mod plain;
