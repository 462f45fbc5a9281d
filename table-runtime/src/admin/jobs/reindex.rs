//! The write of the index rows that a job found missing or wrong.

use std::sync::Arc;

use table_store::{Error, Result};

use super::finding::Finding;
use crate::{
    client::tables::Tables,
    write::index::{EntityWrite, FoundEntity, Schema},
};

/// Writes the rows of these entities in an index. Returns the number of entities whose rows were written, and the
/// conflicts. An entity that is gone by now needs no rows.
///
/// `has_rows` is true if the entities may have some of the rows already.
///
/// # Errors
/// The first failure that is no unique violation. The other entities may have been written.
pub(super) async fn reindex(
    tables: &Tables,
    schema: Schema,
    layout: usize,
    found: Vec<FoundEntity>,
    has_rows: bool,
) -> Result<(usize, Vec<Finding>)> {
    let reindex = |found| {
        let mut write = EntityWrite::reindex(layout, found);
        if has_rows {
            write.look();
        }
        write
    };
    let writes = found.into_iter().map(reindex).collect();
    let (written, failures) = match tables.reindex_all(schema, layout, writes).run().await {
        Ok(done) => (done.written, Vec::new()),
        Err(Error::Bulk(failed)) => (failed.progress.written, failed.failures),
        Err(error) => return Err(error),
    };
    let (mut conflicts, mut other) = (Vec::new(), None);
    for failure in failures {
        match &*failure.error {
            Error::UniqueViolation(violation) => conflicts.push(Finding::two_owners((**violation).clone())),
            _ => other = other.or(Some(failure.error)),
        }
    }
    match other.map(Arc::try_unwrap) {
        None => Ok((written, conflicts)),
        Some(Ok(error)) => Err(error),
        Some(Err(_)) => unreachable!("no failure is left that shares the error"),
    }
}
