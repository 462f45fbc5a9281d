//! Indexes: the rows that lead from a value to its entities.

mod copied;
mod indexable;
pub(crate) mod list;
mod owner;
mod state;

pub use copied::Copied;
pub use indexable::Indexable;
pub use owner::{OwnerReader, point};
pub(crate) use owner::{owner, read_copy};
