//! Tables of a sliced entity: the list of existing ones, and writes that create a missing one.

use crate::{
    ETag, Error, LayoutInfo, Result, RowId, Slice, SliceInfo,
    backend::{Action, BackendExt, Client, Group},
};

/// Returns the existing slices of the table, oldest first.
pub(crate) async fn list(info: &SliceInfo, backend: &Client, table: &str) -> Result<Vec<Slice>> {
    let names = backend.list_tables(table).await?;
    let mut slices: Vec<_> = names.iter().filter_map(|name| info.named(table, name)).collect();
    slices.sort_by_key(|slice| slice.start);
    Ok(slices)
}

/// Executes a write of entities of this layout. If their slice is missing and all of them may be new, creates the
/// slice.
pub(crate) async fn execute(backend: &Client, layout: &LayoutInfo, group: &Group) -> Result<Vec<Option<ETag>>> {
    let executed = backend.execute(group).await;
    if layout.slice.is_none() || !matches!(executed, Err(Error::TableNotFound(_))) {
        return executed;
    }
    let is_new = |action: &Action| matches!(action, Action::Insert(_) | Action::Upsert(_));
    if let Some(operation) = group.operations.iter().find(|operation| !is_new(&operation.action)) {
        let (table, partition_key) = (group.table.to_string(), group.partition_key.clone());
        return Err(Error::NotFound(Box::new(RowId { table, partition_key, row_key: operation.row_key.clone() })));
    }
    backend.create_table(&group.table).await?;
    backend.execute(group).await
}
