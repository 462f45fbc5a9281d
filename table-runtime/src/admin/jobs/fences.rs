//! Transactions that write rows, or give them new versions, on the condition that they have not changed.

use std::borrow::Cow;

use table_store::{
    ETag, Error, Properties, Result,
    backend::{Action, Group, IfMatch, Operation},
    unstable::{client::Client, limits},
};

/// Returns the operation that gives a row a new version and changes nothing else.
pub(super) fn fence(row_key: &str, etag: &ETag) -> Operation {
    let action = Action::Merge(Properties::default(), IfMatch::ETag(etag.clone()));
    Operation { row_key: row_key.to_owned(), action }
}

/// Executes a transaction. Returns false if it was not applied as a whole and can be tried in parts.
pub(super) async fn execute(
    backend: &Client,
    table: &'static str,
    partition_key: &str,
    operations: Vec<Operation>,
) -> Result<bool> {
    let group = Group { table: Cow::Borrowed(table), partition_key: partition_key.to_owned(), operations };
    if group.check().is_err() {
        return Ok(false);
    }
    match backend.execute(&group).await {
        Ok(_) => Ok(true),
        Err(
            Error::AlreadyExists(_)
            | Error::NotFound(_)
            | Error::ConditionNotMet(_)
            | Error::Limit(_)
            | Error::OutcomeUnknown(_),
        ) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Divides rows into chunks of one partition, each of one transaction with so many operations for a row.
pub(super) fn chunks<T>(
    rows: Vec<T>,
    operations: impl Fn(&T) -> usize,
    partition_key: impl Fn(&T) -> &str,
) -> Vec<Vec<T>> {
    let mut chunks: Vec<Vec<T>> = Vec::new();
    let mut filled = 0;
    for row in rows {
        let more = operations(&row);
        let fits = |last: &T| filled + more <= limits::OPERATIONS && partition_key(last) == partition_key(&row);
        match chunks.last_mut() {
            Some(chunk) if chunk.last().is_some_and(fits) => {
                filled += more;
                chunk.push(row);
            }
            _ => {
                filled = more;
                chunks.push(vec![row]);
            }
        }
    }
    chunks
}
