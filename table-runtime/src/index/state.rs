//! Whether an index may be read.

use std::future::{Ready, ready};

use crate::{Result, TableEntity, Tables};

impl Tables {
    /// Whether every entity has its rows in the index of this layout, so that it may be read: asked before each query
    /// over an index.
    ///
    /// An index is made together with its entity's tables, and has its rows from the first write on.
    pub(crate) fn index_is_ready<E: TableEntity>(&self, layout: usize) -> Ready<Result<()>> {
        let _ = (self, &E::LAYOUTS[layout]);
        ready(Ok(()))
    }
}
