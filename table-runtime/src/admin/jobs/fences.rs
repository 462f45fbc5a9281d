//! Transactions that write rows, or give them new versions, on the condition that they have not changed.

use std::borrow::Cow;

use table_store::{
    ETag, Error, Properties, Result,
    backend::{Action, Group, IfMatch, Operation},
    unstable::client::Client,
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

/// Divides rows into chunks of one partition, with at most `size` rows each.
pub(super) fn chunks<T>(rows: Vec<T>, size: usize, partition_key: impl Fn(&T) -> &str) -> Vec<Vec<T>> {
    let mut chunks: Vec<Vec<T>> = Vec::new();
    for row in rows {
        match chunks.last_mut() {
            Some(chunk)
                if chunk.len() < size
                    && chunk.last().is_some_and(|last| partition_key(last) == partition_key(&row)) =>
            {
                chunk.push(row);
            }
            _ => chunks.push(vec![row]),
        }
    }
    chunks
}
