//! Reading of one row by its full key.

use super::{
    found::{FoundRow, IndexRowRef},
    plan::{EntityFns, Plan},
    source::FoundReader,
};
use crate::{Error, Result, RowRef, Tables};

/// Lends the row of a point to `read`, if readers see it.
pub(crate) async fn find(
    plan: &Plan,
    tables: &Tables,
    select: Option<&[&'static str]>,
    read: FoundReader<'_>,
) -> Result<()> {
    let (partition, row) = plan.checked_keys()?;
    let (layout, table) = (plan.layout_number(), plan.row_table()?);
    if let Some(entity_fns) = plan.entity_fns() {
        entity_fns.is_ready(tables).await?;
        if plan.is_lookup() {
            return Box::pin(read_pointer_pointer(plan, entity_fns, tables, read)).await;
        }
    }
    let (visible, is_primary) = (plan.visible(), plan.layout().index.is_none());
    let mut seen = |row: RowRef<'_>| {
        if !is_primary || visible.is_visible(row)? {
            read(FoundRow { layout, table: &table, row, pointer: None })?;
        }
        Ok(())
    };
    match tables.backend().get_with(&table, partition, row, select, &mut seen).await {
        // A slice that is not there, or not for long.
        Err(Error::TableNotFound(_) | Error::TableBeingDeleted(_)) if plan.layout().slice.is_some() => Ok(()),
        read => read.map(drop),
    }
}

/// Lends the entity that a row of an index points to to `read`, until it is a match.
async fn read_pointer_pointer(
    plan: &Plan,
    entity_fns: EntityFns,
    tables: &Tables,
    read: FoundReader<'_>,
) -> Result<()> {
    let (partition_key, row_key) = plan.keys();
    let (backend, visible) = (tables.backend(), plan.visible());
    let mut before = None;
    while let Some(pointer) = backend.get(plan.table(), partition_key, row_key, None).await? {
        // Between the two reads a value may move from one entity to another: its pointer then is another one.
        if before.as_ref() == Some(&pointer.etag) {
            break;
        }
        let (partition, row) = entity_fns.owner(pointer.as_ref())?;
        let mut is_match = false;
        let mut checked = |row: RowRef<'_>| {
            if visible.is_visible(row)? {
                let pointer = Some(IndexRowRef { layout: entity_fns.layout, partition_key, row_key, is_list: false });
                is_match = read(FoundRow { layout: 0, table: visible.table, row, pointer })?;
            }
            Ok(())
        };
        backend.get_with(visible.table, &partition, &row, None, &mut checked).await?;
        if is_match {
            break;
        }
        before = Some(pointer.etag);
    }
    Ok(())
}
