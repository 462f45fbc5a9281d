//! Records whose rows are gone, because their tables were deleted.

use table_model::unstable::layout::{LayoutExt, is_table_of};
use table_store::{Result, backend::BackendExt};

use super::compare::{Comparison, RecordVersion, version};
use crate::client::tables::{ReadRecord, Tables};

/// Returns the records whose rows are gone, as far as they matter to the entity: those of missing tables, and if the entity
/// is not recorded as it is, those of its table and of entities with its name.
pub async fn forgettable(tables: &Tables, compared: &Comparison<'_>) -> Result<Vec<RecordVersion>> {
    let own = |table: &str| {
        let mut unsliced = compared.schema.layouts.iter().filter(|layout| layout.slice.is_none());
        unsliced.any(|layout| layout.table.eq_ignore_ascii_case(table))
    };
    let is_recorded = compared.recorded(&compared.schema.layouts[0]).is_some() && !compared.has_other_key();
    let elsewhere = compared.elsewhere();
    let mut forgettable = Vec::new();
    for record in &compared.catalog.records {
        let layout = &record.layout;
        let is_gone = if !layout.is_sliced() && own(&layout.table) {
            compared.absent.is_missing(&layout.table)
        } else if elsewhere.iter().any(|other| version(other) == version(record))
            || !is_recorded && record.is_of_table(compared.schema.table())
        {
            !has_any(tables, record).await?
        } else {
            false
        };
        if is_gone {
            forgettable.push(version(record));
        }
    }
    Ok(forgettable)
}

/// Checks whether the table of a recorded layout exists; of a sliced one, whether there is a slice of any unit. A damaged
/// record may be that of a sliced layout.
async fn has_any(tables: &Tables, ReadRecord { layout, is_readable, .. }: &ReadRecord) -> Result<bool> {
    // A damaged record has the name in lower case alone, and a service may list by case.
    let begin = if *is_readable { &*layout.table } else { "" };
    let names = tables.backend().list_tables(begin).await?;
    let may_be_slice = |name: &str| !is_readable && is_table_of(name, &layout.table, true);
    Ok(names.iter().any(|name| layout.has_table_of_any_unit(name) || may_be_slice(name)))
}
