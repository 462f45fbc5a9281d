//! Entities without a store: how a struct is written as keys and properties, and read from them.

pub mod codec;
pub mod column;
pub mod cost;
pub mod entity;
mod foreign;
pub mod key;
pub mod layout;
pub mod lifecycle;
pub mod message;
pub mod property;
pub mod returned;
pub mod row_hash;
pub mod sealed;
pub mod valid;
