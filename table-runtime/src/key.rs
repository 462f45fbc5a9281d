//! Keys: how values become the two texts by which a row is found, and back.

pub(crate) mod order;

/// Why a value cannot stand in a key, or a key cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyProblem {}
