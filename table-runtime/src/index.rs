//! Indexes: the rows that lead from a value to its entities.

mod copied;
pub(crate) mod list;
mod owner;
mod state;

pub use copied::Copied;
pub use owner::OwnerReader;
pub(crate) use owner::{owner, read_copy};
