//! Lists: rows that hold the ways to all entities of a value.

use super::{transaction::Change, upkeep::Upkeep};
use crate::{Result, backend::Operation};

impl Upkeep {
    /// The operations on the lists that the change takes an entity from, and adds it to.
    pub(super) async fn list_operations(&self, change: &Change<'_>, partition_key: &str) -> Result<Vec<Operation>> {
        let _ = (change, partition_key);
        Ok(Vec::new())
    }
}
