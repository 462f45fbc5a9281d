//! Reading of one row by its full key.

use table_model::unstable::layout::LayoutExt;
use table_store::{Error, Result, RowRef, backend::BackendExt, unstable::observe};

use super::{
    found::{FoundRow, IndexRowRef, OnRow},
    plan::{IndexedEntity, Plan},
    ready::ReadyIndex,
};
use crate::client::tables::Tables;

/// Calls `read` for the row of a point, if the row is visible to readers.
pub async fn find(plan: &Plan, tables: &Tables, select: Option<&[&'static str]>, read: OnRow<'_>) -> Result<()> {
    match plan.indexed_entity() {
        None => find_row(plan, tables, select, read).await,
        // The future of most points, which read no index, is kept small: it is moved several times.
        Some(indexed_entity) => Box::pin(find_in_index(plan, indexed_entity, tables, select, read)).await,
    }
}

/// Calls `read` for a row that a point has found in this table, if the row is visible to readers.
pub fn show(plan: &Plan, tables: &Tables, table: &str, row: &RowRef<'_>, read: OnRow<'_>) -> Result<()> {
    let (layout, visible) = (plan.layout(), plan.visible());
    if (layout.index.is_some() || visible.is_visible(row)?)
        && (!layout.is_copy() || !visible.is_skipped(row)?)
        && visible.shows(row, || tables.reader().earliest())?
    {
        let found = FoundRow { layout: plan.layout_number(), table, row, pointer: None, once: None };
        observe::returned(usize::from(read(&found)?));
    }
    Ok(())
}

async fn find_row(plan: &Plan, tables: &Tables, select: Option<&[&'static str]>, read: OnRow<'_>) -> Result<()> {
    let (partition, row) = plan.checked_keys()?;
    let table = plan.row_table()?;
    let mut check_row = |row: RowRef<'_>| show(plan, tables, &table, &row, &mut *read);
    match tables.reader().get_with(&table, partition, row, select, &mut check_row).await {
        // The slice does not exist, or is being deleted: it has no such row.
        Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if plan.layout().slice.is_some() => Ok(()),
        read => read.map(drop),
    }
}

async fn find_in_index(
    plan: &Plan,
    indexed_entity: IndexedEntity,
    tables: &Tables,
    select: Option<&[&'static str]>,
    read: OnRow<'_>,
) -> Result<()> {
    plan.checked_keys()?;
    let index = ReadyIndex::new(tables, indexed_entity.id()).await?;
    if plan.is_lookup() {
        read_through_pointer(plan, indexed_entity, tables, read).await?;
    } else {
        find_row(plan, tables, select, read).await?;
    }
    index.confirm().await
}

/// Calls `read` for the entity that an index row points to. Reads the pointer again until the entity is a match or the
/// pointer is unchanged.
async fn read_through_pointer(
    plan: &Plan,
    indexed_entity: IndexedEntity,
    tables: &Tables,
    read: OnRow<'_>,
) -> Result<()> {
    let (partition_key, row_key) = plan.keys();
    let (backend, visible) = (tables.reader(), plan.visible());
    let mut last_etag = None;
    while let Some(pointer) = backend.get(plan.table(), partition_key, row_key, None).await? {
        // Between the two reads the value may move to another entity, and then its pointer changes. An unchanged
        // pointer means that no entity has the value.
        if last_etag.as_ref() == Some(&pointer.etag) {
            break;
        }
        let owner = indexed_entity.owner(pointer.as_ref())?;
        let mut is_match = false;
        let mut check_row = |row: RowRef<'_>| {
            if visible.is_visible(&row)? && visible.shows(&row, || backend.earliest())? {
                let pointer =
                    Some(IndexRowRef { layout: indexed_entity.layout_number, partition_key, row_key, is_list: false });
                is_match = read(&FoundRow { layout: 0, table: visible.table, row: &row, pointer, once: None })?;
            }
            Ok(())
        };
        backend.get_with(visible.table, &owner.partition_key, &owner.row_key, None, &mut check_row).await?;
        if is_match {
            observe::returned(1);
            break;
        }
        last_etag = Some(pointer.etag);
    }
    Ok(())
}
