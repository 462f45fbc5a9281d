//! Indexes: the rows that lead from a value to its entities.

mod copied;
mod owner;

pub use copied::Copied;
pub use owner::OwnerReader;
pub(crate) use owner::{owner, read_copy};
