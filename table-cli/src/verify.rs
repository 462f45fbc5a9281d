//! `tables verify`.

use std::io::Write;

use futures_util::StreamExt;
use table_runtime::inventory::{Inventory, RecordedEntity};

use crate::{failure::Failure, store::Store};

/// Number of problems that are printed.
const PRINTED: u64 = 1000;

/// Returns the recorded entity that has this name, or has had it.
pub(crate) fn entity_called<'i>(inventory: &'i Inventory, name: &str) -> Result<&'i RecordedEntity, Failure> {
    let found = inventory.entities.iter().find(|entity| entity.names.iter().any(|known| known == name));
    found.ok_or_else(|| Failure::missing(format!("the catalog has no entity {name}")))
}

/// Compares entities with the rows of their indexes.
pub(crate) async fn verify(store: &Store, entity: Option<&str>, out: &mut impl Write) -> Result<(), Failure> {
    let inventory = store.tables.inventory().await?;
    let chosen = match entity {
        None => None,
        Some(name) => Some(entity_called(&inventory, name)?),
    };
    let (mut job, mut problems) = (inventory.verify(&store.tables, chosen), 0_u64);
    while let Some(finding) = job.next().await {
        let finding = finding?;
        problems += 1;
        if problems <= PRINTED {
            writeln!(out, "{finding}")?;
        }
    }
    let verified = job.await?;
    writeln!(out, "{} entities and {} index rows compared", verified.entities, verified.index_rows)?;
    for index in &verified.partly {
        writeln!(out, "not compared completely: {index}")?;
    }
    match problems {
        0 => Ok(()),
        1 => Err(Failure::found("1 problem was found")),
        problems => Err(Failure::found(format!("{problems} problems were found"))),
    }
}
